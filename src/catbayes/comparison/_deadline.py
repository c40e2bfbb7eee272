"""An end that even a fit inside of another library keeps to."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

FAR_AWAY = 1e7  # seconds, beyond what a timer takes
SHORTEST = 1e-3  # seconds; none at all would disarm a timer


class TimeUp(BaseException):
    """The time budget is spent."""


@dataclass(slots=True)
class Alarm:
    """Whether the time is up, for those who catch what the alarm raised."""

    rang: bool = False


@contextmanager
def deadline(end: float | None) -> Iterator[Alarm]:
    """Raise TimeUp at that time, even inside a fit; away from the main thread, folds run to their end.

    What the alarm raises may come out as something else: CatBoost makes a KeyboardInterrupt of whatever stops it. So
    every error after the alarm means that the time was up. A process has one such timer: that of the caller goes on
    afterwards with what is left of its time.
    """
    alarm = Alarm()
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if end is None or not able or end - time.monotonic() > FAR_AWAY:
        yield alarm
        return

    def stop(*_: Any) -> None:
        alarm.rang = True
        raise TimeUp

    began = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)  # first, or it could ring for our handler
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), SHORTEST))
    try:
        yield alarm
    except (Exception, KeyboardInterrupt):
        if alarm.rang:
            raise TimeUp from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), SHORTEST), interval)
