"""Times and memory, such as can be compared on a machine that others use as well."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pyarrow

Task = Callable[[], Any]


def in_turn(tasks: Mapping[str, Task], repeat: int) -> dict[str, float]:
    """Best of several times of each task, which take turns, in seconds of processor."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(repeat):
        for name, task in tasks.items():
            gc.collect()
            start = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - start)
    return best


def resident(field: str) -> float:
    """Memory of this process in MB: VmRSS now, or VmHWM at its highest since it was last reset."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))


def peak(task: Task) -> float:
    """The highest memory above the start, in MB; what was freed before is given back, or it would be used again."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pyarrow.default_memory_pool().release_unused()
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = resident("VmRSS")
    task()
    return resident("VmHWM") - before


def alone(function: Callable[..., float], *arguments: Any) -> float:
    """Call a function in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
