"""The command line: demo, compare, fit, encode, update, posteriors.

Exit codes: 0 done, 1 something is wrong with what was given, 2 the command itself is wrong, 130 interrupted. Output is
written in full or not at all, and an existing file is never replaced without --force.
"""

from catbayes.cli._command import commands, run
from catbayes.cli._comparing import compare
from catbayes.cli._demo import demo
from catbayes.cli._files import encode, fit, posteriors, update

__all__ = ["commands", "run"]

for command in (demo, compare, fit, encode, update, posteriors):
    commands.add_command(command)
