"""A linear model with crossed effects: how far each category moves the target, given all other terms.

    z = μ + Σ_k b_k(x) w_k + Σ_j f_j u_j[category of the row in column j] + ε,
    w_k ~ N(0, τ_w²),  u_j ~ N(0, τ_j²),  ε ~ N(0, σ² / weight)

The factor f_j is 1 for effects, and a number of the row where each category has a slope of its own.

Given the variances, which `_gibbs` learns, the posterior mean of all terms at once solves the mixed-model equations of
C. R. Henderson, (XᵀΩX + σ² D⁻¹) β = XᵀΩz with the prior variances D. Rows are needed only to add up the products XᵀΩX
and XᵀΩz, once; those of some rows are taken off again to leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from catbayes.core.arrays import TINY
from catbayes.core.validation import Array, Codes

__all__ = ["ALIKE", "Components", "Crossed", "Equations", "solve"]

TOLERANCE = 1e-8
MOST_STEPS = 300
MOST_DIRECT, MOST_DENSE = 1_200, 400
MOST_PRODUCTS = 60_000_000
"""Of rows and pairs of columns; of larger tables products are made anew each time, and variances are of a sample."""
ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class Components:
    """Variances: of the noise of a row of weight 1, of the effects of each column, of the weights of numbers."""

    noise: float
    columns: tuple[float, ...]
    numbers: float


@dataclass(frozen=True)
class Crossed:
    """The terms of every row: its slot in each column, and functions of its numbers, (row, function).

    A vector of all terms has μ, the weights of the numbers, and the effects of one column after the other.
    """

    slots: tuple[Codes, ...]
    sizes: tuple[int, ...]
    numbers: Array = field(repr=False)
    factors: tuple[Array | None, ...] = ()  # what the effects of a column are multiplied by, where they are slopes
    n_free: int = 0  # of the functions, the last ones, in units so small that their weights are hardly shrunk

    def factor(self, number: int) -> Array | None:
        """What the effects of a column are multiplied by in each row; None for 1."""
        return self.factors[number] if self.factors else None

    def take(self, rows: Codes) -> Crossed:
        """The terms of some rows."""
        return replace(
            self,
            slots=tuple(slots[rows] for slots in self.slots),
            numbers=self.numbers[rows],
            factors=tuple(None if factor is None else factor[rows] for factor in self.factors),
        )

    @cached_property
    def starts(self) -> list[int]:
        """Where the effects of each column stand among all terms, and the end."""
        return [int(place) for place in np.cumsum([1 + self.numbers.shape[1], *self.sizes])]

    @cached_property
    def lines(self) -> Array:
        """What μ and the weights of numbers are multiplied by, (row, line)."""
        return np.column_stack([np.ones(len(self.numbers)), self.numbers])

    @cached_property
    def categories(self) -> csr_array:
        """What the effects are multiplied by, (row, effect): a factor for each column, and nothing else."""
        n_rows, n_columns = len(self.numbers), len(self.sizes)
        places = [slots + (start - self.starts[0]) for slots, start in zip(self.slots, self.starts, strict=False)]
        values = np.column_stack([np.broadcast_to(factor, n_rows) for factor in self._multipliers])
        indices = np.stack(places, axis=1).reshape(-1)
        ends = np.arange(n_rows + 1, dtype=indices.dtype) * n_columns
        return csr_array((values.reshape(-1), indices, ends), shape=(n_rows, self.starts[-1] - self.starts[0]))

    @property
    def _multipliers(self) -> list[Any]:
        return [1.0 if factor is None else factor for factor in self.factors or [None] * len(self.sizes)]

    def effects(self, terms: Array) -> list[Array]:
        """The effects of each column."""
        return [terms[start:end] for start, end in pairwise(self.starts)]

    def at_rows(self, terms: Array) -> Array:
        """The sum of the terms of each row: Xβ."""
        return np.asarray(self.lines @ terms[: self.starts[0]] + self.categories @ terms[self.starts[0] :])

    def sums(self, values: Array) -> Array:
        """For each term, the sum over the rows that have it: Xᵀ values."""
        return np.concatenate([values @ self.lines, values @ self.categories])

    def counts(self, weight: Array) -> list[Array]:
        """How much the rows of each category weigh, for every column: Σ weight · factor²."""
        columns = zip(self.slots, self.sizes, self._multipliers, strict=True)
        return [np.bincount(slots, weight * factor**2, size).astype(np.float64) for slots, size, factor in columns]

    def penalties(self, components: Components) -> Array:
        """What each term has on the diagonal: the noise over its own variance; nothing for μ."""
        variances = np.array([np.inf, components.numbers, *components.columns])
        return np.repeat(components.noise / variances, [1, self.numbers.shape[1], *self.sizes])


@dataclass(frozen=True)
class _Products:
    """Products of all terms, over the rows: XᵀΩX, in blocks of lines and effects."""

    lines: Array
    sides: Array  # (effect, line)
    crossed: Any  # of the effects: dense if they are few

    @classmethod
    def of(cls, design: Crossed, weight: Array) -> _Products:
        weighted = design.lines * weight[:, None]
        found = design.categories
        values = found.data * np.repeat(weight, len(design.sizes))
        crossed = found.T @ csr_array((values, found.indices, found.indptr), shape=found.shape)
        few = found.shape[1] <= MOST_DENSE
        return cls(design.lines.T @ weighted, found.T @ weighted, crossed.toarray() if few else crossed.tocsr())

    @property
    def n_products(self) -> int:
        """How many there are."""
        return int(self.lines.size + 2 * self.sides.size + (getattr(self.crossed, "nnz", None) or self.crossed.size))

    def __sub__(self, other: _Products) -> _Products:
        return _Products(self.lines - other.lines, self.sides - other.sides, self.crossed - other.crossed)

    def __matmul__(self, terms: Array) -> Array:
        by_lines, effects = np.split(terms, [len(self.lines)])
        return np.concatenate(
            [self.lines @ by_lines + effects @ self.sides, self.sides @ by_lines + self.crossed @ effects]
        )

    def crossed_of(self, start: int, end: int) -> Any:
        """Products of some effects with all effects."""
        return self.crossed[start - len(self.lines) : end - len(self.lines)]


@dataclass(frozen=True)
class _ByRows:
    """The same, by a pass over the rows each time: of large tables there are too many products."""

    design: Crossed
    weight: Array
    lines: Array

    def __matmul__(self, terms: Array) -> Array:
        return self.design.sums(self.weight * self.design.at_rows(terms))


@dataclass(frozen=True)
class Equations:
    """The normal equations of all terms: the products of a design, XᵀΩX and XᵀΩz, and zᵀΩz, z being about an origin."""

    design: Crossed
    z: Array
    weight: Array
    origin: float
    products: Any
    right: Array
    square: float
    n_rows: float  # that the weights are of: of rates and shares, these weigh a row, and do not count it

    @classmethod
    def of(
        cls,
        design: Crossed,
        z: Array,
        weight: Array,
        origin: float | None = None,
        n_rows: float | None = None,
    ) -> Equations:
        """Add up products over the rows, unless they are too many; z is about its mean, which avoids rounding."""
        if origin is None:
            origin = float(weight @ z) / max(float(weight.sum()), TINY)
        about = z - origin
        if len(z) * len(design.sizes) ** 2 > MOST_PRODUCTS:
            products: Any = _ByRows(design, weight, design.lines.T @ (weight[:, None] * design.lines))
        else:
            products = _Products.of(design, weight)
        weighted = weight * about
        sums = design.sums(weighted), float(weighted @ about)
        return cls(design, z, weight, origin, products, *sums, float(weight.sum()) if n_rows is None else n_rows)

    def without(self, rows: Codes) -> Equations:
        """The equations of the other rows."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        if isinstance(self.products, _ByRows):
            return Equations.of(self.design, self.z, weight, self.origin)
        left_out = Equations.of(self.design.take(rows), self.z[rows], self.weight[rows], self.origin)
        return replace(
            self,
            weight=weight,
            products=self.products - left_out.products,
            right=self.right - left_out.right,
            square=self.square - left_out.square,
        )

    def sampled(self, random: np.random.Generator) -> Equations:
        """Those of all rows, or of as many as can be added up."""
        if not isinstance(self.products, _ByRows):
            return self
        size = min(MOST_PRODUCTS // len(self.design.sizes) ** 2, len(self.z))
        rows = np.sort(random.choice(len(self.z), size, replace=False))
        n_rows = self.n_rows * size / len(self.z)
        return Equations.of(self.design.take(rows), self.z[rows], self.weight[rows], n_rows=n_rows)


def solve(equations: Equations, components: Components) -> Array:
    """The posterior mean of all terms: directly where they are few, else by conjugate gradients."""
    design, products = equations.design, equations.products
    penalties, end, weight = design.penalties(components), design.starts[0], equations.weight
    total = max(float(weight.sum()), TINY)
    if len(penalties) <= MOST_DIRECT and weight.any() and isinstance(products, _Products):
        crossed = products.crossed if isinstance(products.crossed, np.ndarray) else products.crossed.toarray()
        matrix = np.block([[products.lines, products.sides.T], [products.sides, crossed]])
        np.einsum("ii->i", matrix)[:] += penalties + ALIKE * total
        found = cho_solve(cho_factor(matrix, overwrite_a=True), equations.right)
    else:
        diagonal = np.maximum(np.concatenate(design.counts(weight)) + penalties[end:], TINY)
        shrunk = products.lines[1:, 1:] + np.diag(penalties[1:end] + ALIKE * total + TINY)
        inverse = np.linalg.inv(shrunk) if end > 1 else shrunk

        def multiply(terms: Array) -> Array:
            return np.asarray(products @ terms + penalties * terms)

        def precondition(terms: Array) -> Array:
            return np.concatenate([[terms[0] / total], inverse @ terms[1:end], terms[end:] / diagonal])

        shape = (len(penalties), len(penalties))
        matrix, roughly = (LinearOperator(shape, matvec=one, dtype=np.float64) for one in (multiply, precondition))
        found, _ = cg(matrix, equations.right, M=roughly, rtol=TOLERANCE, maxiter=MOST_STEPS)
    found[0] += equations.origin
    return np.asarray(found)
