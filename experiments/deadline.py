"""A time limit that interrupts a fit inside another library."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TimeUp(BaseException):
    """The time limit has passed."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeUp after this time.

    Libraries may convert it: CatBoost raises KeyboardInterrupt instead. So any error after the alarm becomes TimeUp.
    """
    expired = False

    def stop(*_: Any) -> None:
        nonlocal expired
        expired = True
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except (Exception, KeyboardInterrupt):
        if expired:
            raise TimeUp from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
