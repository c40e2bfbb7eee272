"""What an engine must do to read files.

Expressions are those of the engines themselves, because tables may have thousands of columns: a CASE for each takes
DuckDB seconds, a list of words becomes a join for each, and narwhals goes through all columns for each of them. It also
hides the engine's errors behind its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from catbayes.io.cells import ALLOWED, PATTERNS, TEXT, likely
from catbayes.io.text import Layout

SAMPLE = 1_000


class MisreadError(Exception):
    """Cells hold marks that the engine may have taken otherwise than `_text` says."""


class FileEngine(ABC):
    """Reads files as lazy frames that narwhals knows; its library is imported inside of methods only."""

    modules: ClassVar[tuple[str, ...]]  # where its lazy frames and its errors are defined
    has_memory_limit: ClassVar[bool] = False
    sure: ClassVar[str]  # cells like this are what `_text` says; others may be odd quotes and line ends, misread

    @abstractmethod
    def scan(
        self, paths: Sequence[str], kind: str, layout: Layout | None, memory_limit: str | None
    ) -> AbstractContextManager[Any]:
        """Open files of one kind as one lazy frame, by their very names.

        "Parquet" and "Arrow" keep their types. "CSV" has a `layout`; its cells are texts without blanks around
        them, and a line without cells is no row.
        """

    @abstractmethod
    def batches(self, frame: Any, n_rows: int) -> Iterator[Any]:
        """Arrow tables or record batches of about `n_rows` rows, in the order of the rows."""

    @abstractmethod
    def head(self, frame: Any, n_rows: int) -> list[tuple[str | None, ...]]:
        """The first rows of a frame of texts."""

    @abstractmethod
    def match(self, frame: Any, names: Sequence[str], asked: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        """Whether all cells of a column match a pattern, for each column and pattern asked; None if it has no cells.

        Reads every cell of the columns `names`, asked or not: what cannot be read fails here.
        """

    @abstractmethod
    def convert(self, frame: Any, types: dict[str, str]) -> Any:
        """A frame of texts as what they were found to be: whole, number, truth, date, instant, time or text."""

    def owns(self, value: object) -> bool:
        """Tell whether a lazy frame or an error is of this engine."""
        return type(value).__module__.partition(".")[0] in self.modules

    def blames_file(self, error: Exception) -> bool:
        """Tell whether an error says that a file cannot be read."""
        return self.owns(error)

    def find_types(self, frame: Any, layout: Layout, text: Sequence[str]) -> dict[str, str]:
        """What each column of a frame of texts holds: guessed from its first rows, then held against all of them.

        Raises MisreadError where cells may be others than `_text` says; those of a plain copy never are.
        """
        names = layout.names
        head = self.head(frame, SAMPLE)
        columns: Iterable[Sequence[str | None]] = zip(*head, strict=True) if head else [()] * len(names)
        kinds = {name: likely(cells) for name, cells in zip(names, columns, strict=True)}
        asked = [(name, kind) for name in names if name not in text for kind in kinds[name]]
        questions = [(name, ALLOWED[kind]) for name, kind in asked]
        marks = [] if layout.copied else [(name, self.sure) for name in names]
        answers = self.match(frame, names, [*questions, *marks])
        if False in answers[len(questions) :]:
            raise MisreadError
        answers = answers[: len(questions)]
        held = {question for question, answer in zip(asked, answers, strict=True) if answer is not False}
        return {
            name: next((kind for kind in PATTERNS if (name, kind) in held and (name, TEXT) not in held), TEXT)
            for name in names
        }
