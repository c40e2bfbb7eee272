"""What cannot be collected: the layer for PyTorch, where that is not installed, and what builds the documentation."""

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
if not find_spec("torch"):
    collect_ignore.append("src/catbayes/torch.py")
