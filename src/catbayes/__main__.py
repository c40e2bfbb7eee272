"""`catbayes` on the command line, and `python -m catbayes`."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; without its libraries, name the extra to install."""
    terminated = []

    def terminate(*_: object) -> None:
        terminated.append(True)
        sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, terminate)  # so that temporary files are removed
    try:
        from catbayes.cli import run
    except ImportError as error:
        sys.exit(f'catbayes: {error}. The command line needs more: pip install "catbayes[cli]".')
    code = run(sys.argv[1:])
    sys.exit(128 + signal.SIGTERM if terminated else code)  # an engine may turn the exit into an error


if __name__ == "__main__":
    main()
