"""Run the core tests: those of encoders and arithmetic, which need nothing but the extra "smoke"."""

import sys

import pytest

NAMES = ("encoder", "families", "statistics", "containers", "own_target", "targets", "mappings")
sys.exit(pytest.main(["-q", "-n", "auto", "-p", "no:cacheprovider", *(f"tests/test_{name}.py" for name in NAMES)]))
