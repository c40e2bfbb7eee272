"""The command line: demo, compare, fit, encode, update.

Exit codes: 0 done, 1 an error, 2 wrong usage, 130 interrupted. Output is written as a whole or not at all, and an
existing file is only replaced with --force.
"""

from catbayes.cli.command import run

__all__ = ["run"]
