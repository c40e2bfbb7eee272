"""Columns of one kind of value, in several roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from catbayes.core.combinations import Index
from catbayes.kinds._kind import Kind


@dataclass(frozen=True)
class Shared(Kind):
    """Columns that hold the same things in several roles: home and away, sender and receiver.

    A category in one role leans on what is known of it in the others: as far as roles agree, which the data tell, and
    each about the mean of its role. So a team that was never at home is known from its games away. No row may
    hold one category in two roles.

    Parameters
    ----------
    opposed : bool, default=False
        Whether what is good for the target in one role is bad for it in the others: of a team that often wins, the
        target "the home team wins" is high if it is at home, and low if it is away. For two columns, and
        for numbers and two classes.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.kinds import Shared
    >>> random = np.random.default_rng(0)
    >>> home, away = random.integers(0, 30, (2, 90))
    >>> skill = random.normal(size=30)
    >>> away = np.where(away == home, (away + 1) % 30, away)
    >>> margin = 0.5 + skill[home] - skill[away] + random.normal(size=90)
    >>> games = pd.DataFrame({"home": home, "away": away}).astype(str)
    >>> for kinds in (None, {("home", "away"): Shared(opposed=True)}):
    ...     encoder = SamplingBayesianEncoder(kinds=kinds).fit(games, margin)
    ...     known = encoder.transform(pd.DataFrame({"home": range(30), "away": range(30)}).astype(str))[:, 0]
    ...     print(round(float(np.corrcoef(known, skill)[0, 1]), 2))
    0.87
    0.9
    """

    opposed: bool = False

    in_memory: ClassVar[bool] = True

    def index(self, seen: Index, name: Any, peers: Sequence[Index] = ()) -> Index:
        """The categories of all roles."""
        joint = seen
        for peer in peers:
            joint, _, _ = joint.union(peer)
        return replace(joint, leaning="opposed roles" if self.opposed else "roles")
