"""The paper's experiments, and ours: run, kept, judged and written down by `make reproduce`."""
