"""`catbayes` on the command line, and `python -m catbayes`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without its libraries, say which to install."""
    try:
        from catbayes.cli import run
    except ImportError as error:
        print(f'catbayes: {error}. The command line needs more: pip install "catbayes[cli]".', file=sys.stderr)
        sys.exit(1)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
