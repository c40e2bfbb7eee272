"""Run, kept, judged and written down: the paper's experiments by `make reproduce`, ours by `make bench-quality`."""
