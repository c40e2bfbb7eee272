"""How a table is encoded: the parameters of an encoder, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from joblib import Parallel, delayed

from catbayes._drawing import Draws
from catbayes._encoding._own_target import OwnTarget
from catbayes._selection import Selection
from catbayes._validation import check_option
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.mappings import Mapping
from catbayes.priors import Prior

Unseen = Literal["prior", "error"]
Missing = Literal["category", "prior", "error"]
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is encoded, by which family, prior and mapping, and what is done with targets, draws and strangers."""

    selection: Selection
    family: type[Family] | str
    prior: Prior
    mapping: Mapping
    own_target: OwnTarget
    draws: Draws
    unseen: Unseen
    missing: Missing
    n_jobs: int | None

    def __post_init__(self) -> None:
        """Require settings that go together."""
        check_option("unseen", self.unseen, ("prior", "error"))
        check_option("missing", self.missing, ("category", "prior", "error"))
        self.own_target.check(self.draws, self.selection.hierarchy)

    def run(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """Threads, because numpy and the frame libraries let go of the interpreter; results keep their order."""
        if self.n_jobs in (None, 1):
            return [function(item) for item in items]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(function)(item) for item in items))

    def refuse_missing(self, count: float, name: object) -> None:
        """Raise an error, where missing values call for one."""
        if self.missing == "error" and count:
            raise InputError(
                f'Column {name!r} is missing in {count:g} rows. Fill them, or set missing="category" or "prior".'
            )

    def refuse_unseen(self, strangers: list[object], name: object) -> None:
        """Raise an error, where categories that were not seen call for one."""
        if self.unseen == "error" and strangers:
            raise InputError(
                f"Column {name!r} holds categories that fit never saw, such as {strangers}. "
                'Fit on them, or set unseen="prior" to encode them by the prior.'
            )
