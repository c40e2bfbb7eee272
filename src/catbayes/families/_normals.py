"""Normals in the place of posteriors: worked out once for every entry, so that a draw is a polynomial of a number.

The normal of Appendix B has the mean and the covariance of the posterior. Corrected for skewness, as Cornish and Fisher
do it, it has the third moment too, to the order that counts: its error falls with 1 / n in place of 1 / √n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from catbayes.core.validation import Array


@dataclass(frozen=True, slots=True, eq=False)
class Normals:
    """θ = level + slope · z + bend · z² with z ~ N(0, 1), of independent parameters, (…, parameter) each.

    Examples
    --------
    >>> import numpy as np
    >>> from catbayes.families import Normals
    >>> normals = Normals.of(mean=np.array([[0.5], [0.2]]), scale=np.array([[0.1], [0.0]]), skewness=np.zeros((2, 1)))
    >>> normals.take(np.array([0, 0, 1])).draw(np.array([[1.0], [-1.0], [2.0]])).round(2).tolist()
    [[0.6], [0.4], [0.2]]
    """

    level: Array
    slope: Array
    bend: Array

    @classmethod
    def of(cls, mean: Array, scale: Array, skewness: Array) -> Self:
        """θ = mean + scale · (z + skewness / 6 · (z² - 1))."""
        bend = scale * skewness / 6.0
        return cls(mean - bend, scale, bend)

    def straight(self) -> Self:
        """The same means and variances, of normals that have no skewness."""
        return type(self)(self.level + self.bend, self.slope, 0.0 * self.bend)

    def closer(self, factor: Array) -> Self:
        """The same means, and draws that lie so many times as far from them."""
        factor = factor[..., None]
        return type(self)(self.level + (1.0 - factor) * self.bend, factor * self.slope, factor * self.bend)

    def take(self, index: Any) -> Self:
        """Pick entries, as often as the index asks."""
        return type(self)(*(values.take(index, axis=0) for values in (self.level, self.slope, self.bend)))

    def draw(self, noise: Array) -> Array:
        """Turn standard normals, (…, parameter), into draws of θ."""
        theta = self.bend * noise
        theta += self.slope
        theta *= noise
        theta += self.level
        return theta


class SharedNormals(Normals):
    """Shares of a whole: θ = m + slope · (e - m Σe) with e_c ~ N(0, m_c), of covariance slope² (diag m - m mᵀ)."""

    __slots__ = ()

    def draw(self, noise: Array) -> Array:
        """Turn standard normals into draws of θ that add up to 1."""
        theta = np.sqrt(self.level) * noise
        theta -= self.level * theta.sum(axis=-1, keepdims=True)
        theta *= self.slope
        theta += self.level
        return theta
