"""`catbayes` on the command line, and `python -m catbayes`."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]

TERMINATED = 143


def main() -> None:
    """Run the command line; without its libraries, say which to install."""
    terminated = []

    def terminate(*_: object) -> None:
        terminated.append(True)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, terminate)  # so that what was begun is cleaned up
    try:
        from catbayes.cli import run
    except ImportError as error:
        print(f'catbayes: {error}. The command line needs more: pip install "catbayes[cli]".', file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("catbayes: interrupted; nothing was written.", file=sys.stderr)
        sys.exit(130)
    code = run(sys.argv[1:])
    sys.exit(TERMINATED if terminated else code)  # an engine may take the one for the other


if __name__ == "__main__":
    main()
