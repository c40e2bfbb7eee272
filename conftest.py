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
