"""Fixtures that every test shares, and the rule that a test which can run must run."""

import os
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("catbayes", deadline=None)  # no test measures time
settings.load_profile("catbayes")

GRANTED = "is non deterministic"  # scikit-learn's own reason; tests/test_scikit_learn_checks.py makes up for each


PASSED = Path(os.environ["CATBAYES_PASSED"]) if "CATBAYES_PASSED" in os.environ else None
"""A file of tests that have passed, and are not run again; those that pass are added."""


def pytest_collection_modifyitems(config, items):
    """Leave out tests that have passed before."""
    if PASSED and PASSED.exists():
        passed = set(PASSED.read_text(encoding="utf-8").splitlines())
        left_out = [item for item in items if item.nodeid in passed]
        items[:] = [item for item in items if item.nodeid not in passed]
        config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter):
    """Add those that have passed now; the last part of a name may be the group that ran it."""
    if PASSED:
        names = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
        PASSED.parent.mkdir(parents=True, exist_ok=True)
        with PASSED.open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n{name.rpartition('@')[0] or name}\n" for name in names)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn skips into failures where CATBAYES_NO_SKIPS is set."""
    report = yield
    if report.skipped and os.environ.get("CATBAYES_NO_SKIPS") and GRANTED not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"skipped, and CATBAYES_NO_SKIPS is set: {report.longrepr}"
    return report


@pytest.fixture
def torch():
    """PyTorch, if it is installed; other libraries may leave a stand-in for it among the modules."""
    try:
        version("torch")
    except PackageNotFoundError:
        pytest.skip("torch is not installed: pip install 'catbayes[torch]'")
    return import_module("torch")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real tables, where there is one."""
    folder = os.environ.get("CATBAYES_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("CATBAYES_DATA names no folder with the real tables")
    return Path(folder)
