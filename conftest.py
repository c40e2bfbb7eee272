"""What cannot be collected: the layer for PyTorch, where that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/catbayes/torch.py"]
