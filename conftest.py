"""What cannot be collected: what needs a library that is not installed, and what builds the documentation."""

from importlib.util import find_spec

collect_ignore = [
    "docs/conf.py",
    "docs/reference.py",
    "docs/check.py",
    "docs/order.py",
    "docs/twins.py",
    "docs/images",
    "docs/gallery",
    "docs/api",
]
collect_ignore += [f"src/catbayes/{name}.py" for name in ("torch", "skl2onnx") if not find_spec(name)]
# Those want other versions than the rest of the tests: `make mlflow` and `make integrations` run them.
if not find_spec("mlflow"):
    collect_ignore.append("tests/test_mlflow.py")
if not find_spec("autogluon") or not find_spec("skrub"):
    collect_ignore.append("tests/test_integrations.py")
