"""The engines that read files, and which of them does."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from catbayes.core.validation import check_option
from catbayes.errors import InputError
from catbayes.io.duckdb import DuckDB
from catbayes.io.engine import FileEngine
from catbayes.io.polars import Polars

FILE_ENGINES: dict[str, FileEngine] = {"duckdb": DuckDB(), "polars": Polars()}
"""By the name of their module, which is that of our extra; "auto" is the first that is installed."""
Engine = Literal["auto", "duckdb", "polars"]
"""The words of ENGINES, for those who check types."""
ENGINES = ("auto", *FILE_ENGINES)


def choose(word: str, memory_limit: str | None) -> FileEngine:
    """The engine of a name, if it is installed and can do what is asked of it."""
    check_option("engine", word, ENGINES)
    wanted = list(FILE_ENGINES) if word == "auto" else [word]
    found = next((name for name in wanted if find_spec(name)), None)
    if found is None:
        raise ImportError(f'Reading files needs {" or ".join(wanted)}: pip install "catbayes[{wanted[0]}]".')
    if memory_limit is not None and not FILE_ENGINES[found].has_memory_limit:
        raise InputError(f"memory_limit={memory_limit!r}: only DuckDB has one. Leave it out, or use engine='duckdb'.")
    return FILE_ENGINES[found]


def owner(frame: object) -> FileEngine | None:
    """The engine that a lazy frame is of, if it is one of ours."""
    return next((engine for engine in FILE_ENGINES.values() if engine.owns(frame)), None)
