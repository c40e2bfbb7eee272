"""The command line: demo, compare, fit, encode, update, posteriors.

Exit codes: 0 done, 1 something is wrong with what was given, 2 the command itself is wrong, 130 interrupted. Output is
written in full or not at all, and an existing file is never replaced without --force.
"""

from catbayes.cli._command import run

__all__ = ["run"]
