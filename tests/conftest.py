"""Fixtures that every test shares, and the rule that a test which can run must run."""

import os
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("catbayes", deadline=None)  # no test measures time
settings.load_profile("catbayes")
settings.register_profile("mutants", max_examples=15, derandomize=True, deadline=None)  # each change waits for them

GRANTED = "is non deterministic"  # scikit-learn's own reason; tests/test_scikit_learn_checks.py makes up for each


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
