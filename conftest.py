"""What cannot be collected: what needs a library that is not installed, and what builds the documentation."""

from importlib.util import find_spec

collect_ignore = [
    "docs/conf.py",
    "docs/reference.py",
    "docs/check.py",
    "docs/order.py",
    "docs/images",
    "docs/gallery",
    "docs/api",
]
collect_ignore += [f"src/catbayes/{name}.py" for name in ("torch", "skl2onnx") if not find_spec(name)]
if not find_spec("mlflow"):  # which wants other versions of what the rest of the tests runs on
    collect_ignore.append("tests/test_mlflow.py")
