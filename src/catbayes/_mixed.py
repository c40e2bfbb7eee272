"""A linear model with crossed effects: how far each category moves the target, given all other terms.

    z = μ + Σ_k b_k(x) w_k + Σ_j f_j u_j[category of the row in column j] + ε,
    w_k ~ N(0, τ_w²),  u_j ~ N(0, τ_j²),  ε ~ N(0, σ² / weight)

The factor f_j is 1 for effects, and a number of the row where each category has a slope of its own.

Given the variances, the posterior mean of all terms at once solves the mixed-model equations of C. R. Henderson,
(XᵀΩX + σ² D⁻¹) β = XᵀΩz with the prior variances D. The variances, and how firmly each effect is known, come from a
short Gibbs sampler, whose sweeps draw one term after the other given the others. It averages over what the variances
may be, so that the doubt about few categories, whose variance is hardly known, is not too small.

Both need the rows only to add up the products XᵀΩX and XᵀΩz, once; those of some rows are taken off again to leave them
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from catbayes._arrays import TINY
from catbayes._validation import Array, Codes

__all__ = ["Components", "Crossed", "Equations", "Learnt", "learn", "solve"]

BURN_IN, BRIEF = 30, 15
FEWEST_SWEEPS, MOST_SWEEPS, WORK = 90, 250, 2_500_000
"""Sweeps that are averaged over: as many as there is time for, by products."""
TOLERANCE = 1e-8
MOST_STEPS = 300
MOST_DIRECT, MOST_DENSE = 1_200, 400
MOST_PRODUCTS = 60_000_000
"""Of rows and pairs of columns; of larger tables products are made anew each time, and variances are of a sample."""
NEARLY_FREE = 1e-3  # rows: what keeps the weights of lines that go together from running away
WIDEST = 3.0
"""Standard deviations count for so many of the response's at most: of two rows or categories, they have no end."""
ALIKE = 1e-9
ROUNDING = 1e-13
LEAST_SHARE = 1e-6
"""Variances of effects are at least this part of that of the noise: smaller ones say the same."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variances: of the noise of a row of weight 1, of the effects of each column, of the weights of numbers."""

    noise: float
    columns: tuple[float, ...]
    numbers: float


class Learnt(NamedTuple):
    """What is learnt before the terms: the variances, and those of the effects of each column in the posterior.

    The latter are about the average of the categories that have rows: what μ is hardly matters.
    """

    components: Components
    variances: list[Array]


@dataclass(frozen=True)
class Crossed:
    """The terms of every row: its slot in each column, and functions of its numbers, (row, function).

    A vector of all terms holds μ, the weights of the numbers, and the effects of one column after the other.

    Examples
    --------
    >>> from catbayes._mixed import Components, Crossed, Equations, solve
    >>> design = Crossed((np.array([0, 0, 1, 1]),), (2,), np.empty((4, 0)))
    >>> equations = Equations.of(design, np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4))
    >>> solve(equations, Components(1.0, (2.0,), 1.0)).round(3).tolist()  # shrunk by 2 / (2 + ½) rows
    [2.0, -0.8, 0.8]
    """

    slots: tuple[Codes, ...]
    sizes: tuple[int, ...]
    numbers: Array = field(repr=False)
    factors: tuple[Array | None, ...] = ()  # what the effects of a column are multiplied by, where they are slopes
    n_free: int = 0  # of the functions, the last ones, whose weights are not shrunk

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
        places = [slots + (start - self.starts[0]) for slots, start in zip(self.slots, self.starts, strict=False)]
        factors = [1.0 if factor is None else factor for factor in self.factors or [None] * len(self.sizes)]
        n_rows, n_columns = len(self.numbers), len(self.sizes)
        values = np.empty((n_rows, n_columns))
        for number, factor in enumerate(factors):
            values[:, number] = factor
        indices = np.stack(places, axis=1).reshape(-1)
        ends = np.arange(n_rows + 1, dtype=indices.dtype) * n_columns
        return csr_array((values.reshape(-1), indices, ends), shape=(n_rows, self.starts[-1] - self.starts[0]))

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
        factors = [1.0 if factor is None else factor**2 for factor in self.factors or [None] * len(self.sizes)]
        columns = zip(self.slots, self.sizes, factors, strict=True)
        return [np.bincount(slots, weight * factor, size).astype(np.float64) for slots, size, factor in columns]

    def penalties(self, components: Components) -> Array:
        """What each term has on the diagonal: the noise over its own variance. μ is free, some weights nearly so."""
        n_shrunk = self.numbers.shape[1] - self.n_free
        shares = [components.noise / variance for variance in (components.numbers, *components.columns)]
        parts = [np.full(size, share) for size, share in zip((n_shrunk, *self.sizes), shares, strict=True)]
        return np.concatenate([[0.0], parts[0], np.full(self.n_free, NEARLY_FREE), *parts[1:]])


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

    def of_rows(self, start: int, end: int) -> tuple[Array, Any]:
        """The products of some effects with all lines, and with all effects."""
        places = slice(start - len(self.lines), end - len(self.lines))
        return self.sides[places], self.crossed[places]


@dataclass(frozen=True)
class _ByRows:
    """The same, by a pass over the rows each time: of large tables, the products themselves would not fit."""

    design: Crossed
    weight: Array
    lines: Array

    def __matmul__(self, terms: Array) -> Array:
        return self.design.sums(self.weight * self.design.at_rows(terms))


@dataclass(frozen=True)
class Equations:
    """What the rows say of all terms: the products of a design, XᵀΩX and XᵀΩz, and zᵀΩz, z being about an origin.

    Examples
    --------
    >>> from catbayes._mixed import Components, Crossed, Equations, solve
    >>> design = Crossed((np.array([0, 0, 1, 1]),), (2,), np.empty((4, 0)))
    >>> equations = Equations.of(design, np.array([1.0, 1.0, 3.0, 9.0]), np.ones(4))
    >>> solve(equations.without(np.array([3])), Components(1.0, (2.0,), 1.0)).round(3).tolist()
    [1.909, -0.727, 0.727]
    """

    design: Crossed
    z: Array
    weight: Array
    origin: float
    products: Any
    right: Array
    square: float
    n_rows: float  # that the weights are of: of rates and shares, these say how much a row tells, and not how many

    @classmethod
    def of(
        cls, design: Crossed, z: Array, weight: Array, origin: float | None = None, n_rows: float | None = None
    ) -> Equations:
        """Add up products over the rows; the origin is the mean as a rule, so that nothing is lost by rounding."""
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
        """What the other rows say."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        if isinstance(self.products, _ByRows):
            return Equations.of(self.design, self.z, weight, self.origin)
        held = Equations.of(self.design.take(rows), self.z[rows], self.weight[rows], self.origin)
        return replace(
            self,
            weight=weight,
            products=self.products - held.products,
            right=self.right - held.right,
            square=self.square - held.square,
        )

    def sampled(self, random: np.random.Generator) -> Equations:
        """Those of so many rows that their products fit."""
        if not isinstance(self.products, _ByRows):
            return self
        size = MOST_PRODUCTS // len(self.design.sizes) ** 2
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


def learn(
    equations: Equations,
    random: np.random.Generator,
    noise: float | None = None,
    most: float = np.inf,
    brief: bool = False,
) -> Learnt:
    """The variances, and how firmly the effects of each column are known.

    The `noise` may be known. Standard deviations of effects are half-Cauchy before, with the scale of z itself, or with
    √`most` if that is less. A `brief` look serves where only the terms matter, and not how firmly they are known.
    """
    sample = equations.sampled(random)
    chain = _Chain(sample, random, noise, most)
    for _ in range(BRIEF if brief else BURN_IN):
        chain.sweep()
    # A conditional mean and a conditional variance at each sweep make a steadier estimate than the draws themselves.
    design = equations.design
    sums = [np.zeros((3, size)) for size in design.sizes]
    drawn = []
    n_sweeps = BRIEF if brief else int(np.clip(WORK // chain.n_products, FEWEST_SWEEPS, MOST_SWEEPS))
    for _ in range(n_sweeps):
        for total, (mean, variance), count in zip(sums, chain.sweep(), chain.counts, strict=True):
            centred, within = _centred(mean, variance, count > 0)
            total += [centred, centred**2, within]
        drawn.append([chain.noise, chain.numbers, *chain.shares()])
    usual = np.mean(np.sqrt(drawn), axis=0) ** 2
    noise, numbers = np.minimum(usual[:2], [chain.noisiest, WIDEST**2 * chain.widest]).tolist()
    components = Components(noise, chain.variances(noise, np.mean(drawn, axis=0)[2:]), numbers)
    found = [total / n_sweeps for total in sums]
    variances = [np.maximum(square - mean**2, 0.0) + within for mean, square, within in found]
    if sample is not equations:  # all rows know more of what tells categories apart than some of them
        shares = [components.noise / variance for variance in components.columns]
        counts = zip(variances, chain.counts, design.counts(equations.weight), shares, strict=True)
        variances = [one * (few + share) / (every + share) for one, few, every, share in counts]
    return Learnt(components, variances)


def _centred(mean: Array, variance: Array, seen: Any) -> tuple[Array, Array]:
    """Mean and variance of independent effects about the average of those that have rows; others stay as they are."""
    size = max(int(seen.sum()), 1)
    around = (1.0 - 2.0 / size) * variance + variance.sum(where=seen) / size**2
    return np.where(seen, mean - mean.sum(where=seen) / size, mean), np.where(seen, around, variance)


class _Chain:
    """A Gibbs sampler of all terms and variances."""

    def __init__(self, equations: Equations, random: np.random.Generator, noise: float | None, most: float) -> None:
        design, products = equations.design, equations.products
        self.equations, self.design, self.random, self.known = equations, design, random, noise
        self.total = max(float(equations.weight.sum()), TINY)
        spread = max((equations.square - equations.right[0] ** 2 / self.total) / self.total, TINY)
        self.widest = min(most, spread)  # the square of the scale of the priors of standard deviations
        self.noisiest = WIDEST**2 * spread * self.total / max(equations.n_rows, TINY)
        self.noise = self.noisiest / WIDEST**2 / 2.0 if noise is None else noise
        self.columns = [spread / 2.0 / len(design.sizes)] * len(design.sizes)
        self.factors = [np.sqrt(variance) for variance in self.columns]
        self.numbers = spread / 2.0 / max(design.numbers.shape[1], 1)
        self.counts = design.counts(equations.weight)
        self.terms = np.zeros(design.starts[-1])
        self.places = [slice(start, end) for start, end in pairwise(design.starts)]
        self.rows = [products.of_rows(start, end) for start, end in pairwise(design.starts)]
        self.nested = list(_nested(design))
        self.gram = products.lines[1:, 1:] + (ALIKE * self.total + TINY) * np.eye(len(products.lines) - 1)
        self.n_products = products.n_products

    def sweep(self) -> list[tuple[Array, Array]]:
        """Draw every term and variance once; returns the conditional mean and variance of each column's effects."""
        if self.design.numbers.shape[1]:
            self._draw_numbers()
        found = [self._draw_column(number) for number in range(len(self.columns))]
        for below, above, parents in self.nested:
            self._exchange(below, above, parents)
        left = self.equations.right - self.equations.products @ self.terms
        squares = self.equations.square - float(self.terms @ (self.equations.right + left))
        shift = float(left[0]) / self.total
        move = shift + np.sqrt(self.noise / self.total) * self.random.standard_normal()
        self.terms[0] += move
        if self.known is None:
            squares += self.total * move**2 - 2.0 * move * float(left[0])
            drawn = max(squares, ROUNDING * self.equations.square, TINY)
            drawn /= self.random.chisquare(max(self.equations.n_rows - 1.0, 1.0))
            self.noise = min(drawn, self.noisiest)
        return found

    def _draw_numbers(self) -> None:
        design, size = self.design, self.design.numbers.shape[1]
        end, products = 1 + size, self.equations.products
        by_lines, effects = self.terms[:end], self.terms[end:]
        penalties = design.penalties(Components(self.noise, tuple(self.columns), self.numbers))[1:end]
        left = self.equations.right[1:end] - products.lines[1:, 0] * by_lines[0] - effects @ products.sides[:, 1:]
        root = np.linalg.cholesky(self.gram + np.diag(penalties))
        half = solve_triangular(root, left, lower=True, check_finite=False)
        drawn = half + np.sqrt(self.noise) * self.random.standard_normal(size)
        weights = solve_triangular(root, drawn, lower=True, trans="T", check_finite=False)
        self.terms[1:end] = weights
        n_shrunk = size - design.n_free
        if n_shrunk:
            squares = float((weights[:n_shrunk] ** 2).sum()) + self.widest / n_shrunk
            self.numbers = squares / self.random.chisquare(1.0 + n_shrunk)

    def _draw_column(self, number: int) -> tuple[Array, Array]:
        place, count, (sides, crossed) = self.places[number], self.counts[number], self.rows[number]
        end = self.design.starts[0]
        told = sides @ self.terms[:end] + crossed @ self.terms[end:] - count * self.terms[place]
        left = self.equations.right[place] - told  # what the other terms leave over, summed over each category
        precision = count + self.noise / self.columns[number]
        mean = left / precision
        variance = np.asarray(self.noise / precision, dtype=np.float64)
        effects = mean + np.sqrt(variance) * self.random.standard_normal(len(count))
        # Effects are a factor times raw ones, both drawn: a half-Cauchy prior of their standard deviation (A. Gelman,
        # 2006), and a sampler that does not stay for long where a variance is near zero.
        raw, seen = effects / self.factors[number], count > 0
        squares = float(count @ raw**2) + self.noise / self.widest
        factor = float(raw @ left) / squares
        factor += np.sqrt(self.noise / squares) * self.random.standard_normal()
        variance_of_raw = (1.0 + float((raw[seen] ** 2).sum())) / self.random.chisquare(1.0 + seen.sum())
        factor = np.copysign(max(abs(factor), np.sqrt(LEAST_SHARE * self.noise / variance_of_raw)), factor)
        effects = factor * raw
        self.factors[number], self.columns[number] = factor, float(factor**2 * variance_of_raw)
        if self.design.factor(number) is None:
            # What all effects have in common is as well part of μ: as much as chance has it goes over.
            shift = effects[seen].mean()
            shift += np.sqrt(self.columns[number] / seen.sum()) * self.random.standard_normal()
            effects, self.terms[0] = effects - shift, self.terms[0] + shift
        self.terms[place] = effects
        return mean, variance

    def shares(self) -> list[float]:
        """How much the rows of a category count for against its prior, on average over each column."""
        ratios = [variance / self.noise for variance in self.columns]
        return [_share(count, ratio) for count, ratio in zip(self._telling(ratios), ratios, strict=True)]

    def variances(self, noise: float, shares: Array) -> tuple[float, ...]:
        """Variances of effects with these shares: they shrink as all that were drawn do on average."""
        ratios = [0.0] * len(shares)
        for number in np.argsort([-size for size in self.design.sizes], kind="stable"):  # those within others first
            count = self._telling(ratios)[number]
            low, high = LEAST_SHARE, WIDEST**2 * self.widest / noise

            def beyond(log: float, count: Array = count, share: float = shares[number]) -> float:
                return _share(count, np.exp(log)) - share

            inside = high > low and beyond(np.log(low)) < 0.0 < beyond(np.log(high))
            nearest = low if beyond(np.log(low)) >= 0.0 else max(low, high)
            ratios[number] = float(np.exp(brentq(beyond, np.log(low), np.log(high)))) if inside else nearest
        return tuple(noise * ratio for ratio in ratios)

    def _telling(self, ratios: list[float]) -> list[Array]:
        """Rows that tell of each category; those of categories within it tell no more than these differ by."""
        found = list(self.counts)
        for below, above, parents in self.nested:
            held, count = parents >= 0, self.counts[below]
            told = np.bincount(parents[held], (count / (1.0 + count * ratios[below]))[held], len(found[above]))
            found[above] = np.minimum(found[above], told)
        return found

    def _exchange(self, below: int, above: int, parents: Codes) -> None:
        """Let categories give to those that hold them what they have in common, as much as chance has it."""
        child, parent = self.terms[self.places[below]], self.terms[self.places[above]]
        size = len(parent)
        held = parents >= 0
        n_children = np.bincount(parents[held], minlength=size)
        common = np.bincount(parents[held], child[held], size)
        precision = n_children / self.columns[below] + 1.0 / self.columns[above]
        mean = (common / self.columns[below] - parent / self.columns[above]) / precision
        shift = mean + np.sqrt(1.0 / precision) * self.random.standard_normal(size)
        child -= np.where(held, shift[parents], 0.0)
        parent += shift


def _share(count: Array, ratio: float) -> float:
    """The weight n r / (n r + 1) of n rows against a prior of r times their variance, on average."""
    known = count[count > 0] * ratio
    return float((known / (known + 1.0)).mean()) if known.size else 0.0


def _nested(design: Crossed) -> Iterator[tuple[int, int, Codes]]:
    """Columns whose categories lie each within one of another column, and in which; -1 of those without rows."""
    plain = [number for number in range(len(design.sizes)) if design.factor(number) is None]
    for below, above in permutations(plain, 2):
        parents = np.full(design.sizes[below], -1, dtype=np.intp)
        parents[design.slots[below]] = design.slots[above]
        if (parents[design.slots[below]] == design.slots[above]).all():
            yield below, above, parents
