"""Experiments: the paper's by `make reproduce`, others by `make quality`."""
