"""A linear model with crossed effects: how far each category moves the target, given all other terms.

    z = μ + Σ_k b_k(x) w_k + Σ_j f_j u_j[category of the row in column j] + ε,
    w_k ~ N(0, τ_w²),  u_j ~ N(0, τ_j²),  ε ~ N(0, σ² / weight)

The factor f_j is 1 for effects, and a number of the row where each category has a slope of its own.

Given the variances, the posterior mean of all terms at once solves the mixed-model equations of C. R. Henderson,
(XᵀΩX + σ² D⁻¹) β = XᵀΩz with the prior variances D, which conjugate gradients do without ever forming the matrix. The
variances, and how firmly each effect is known, come from a short Gibbs sampler, whose sweeps draw one term after the
other given the others. It averages over what the variances may be, so that the doubt about few categories, whose
variance is hardly known, is not too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from catbayes._arrays import TINY
from catbayes._validation import Array, Codes

__all__ = ["Components", "Crossed", "Learnt", "learn", "solve"]

BURN_IN, BRIEF = 30, 15
FEWEST_SWEEPS, MOST_SWEEPS, WORK = 90, 250, 500_000
"""Sweeps that are averaged over: as many as there is time for, by rows times columns."""
TOLERANCE = 1e-8
MOST_STEPS = 300
MOST_DIRECT = 400
NEARLY_FREE = 1e-3  # rows: what keeps the weights of lines that go together from running away
WIDEST = 3.0
"""Standard deviations count for so many of the response's at most: of two rows or categories, they have no end."""
ALIKE = 1e-9
LEAST_SHARE = 1e-6
"""Variances of effects are at least this part of that of the noise: smaller ones say the same."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variances: of the noise of a row of weight 1, of the effects of each column, of the weights of numbers."""

    noise: float
    columns: tuple[float, ...]
    numbers: float


class Learnt(NamedTuple):
    """What is learnt before the terms: the variances, and those of the effects of each column in the posterior."""

    components: Components
    variances: list[Array]  # of effects
    centred: list[Array]  # of effects about the average of the categories that have rows: what μ is hardly matters


@dataclass(frozen=True)
class Crossed:
    """The terms of every row: its slot in each column, and functions of its numbers, (row, function).

    A vector of all terms holds μ, the weights of the numbers, and the effects of one column after the other.

    Examples
    --------
    >>> from catbayes._mixed import Components, Crossed, solve
    >>> design = Crossed((np.array([0, 0, 1, 1]),), (2,), np.empty((4, 0)))
    >>> terms = solve(design, np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4), Components(1.0, (2.0,), 1.0))
    >>> terms.round(3).tolist()  # shrunk by 2 / (2 + ½) rows
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

    @cached_property
    def starts(self) -> list[int]:
        """Where the effects of each column stand among all terms, and the end."""
        return [int(place) for place in np.cumsum([1 + self.numbers.shape[1], *self.sizes])]

    def effects(self, terms: Array) -> list[Array]:
        """The effects of each column."""
        return [terms[start : start + size] for start, size in zip(self.starts, self.sizes, strict=False)]

    def at_rows(self, terms: Array) -> Array:
        """The sum of the terms of each row: Xβ."""
        total = terms[0] + self.numbers @ terms[1 : self.starts[0]]
        for number, effects in enumerate(self.effects(terms)):
            total += self.spread_out(number, effects)
        return np.asarray(total)

    def spread_out(self, number: int, effects: Array) -> Array:
        """What each row has of the effects of a column."""
        factor = self.factor(number)
        return effects[self.slots[number]] if factor is None else effects[self.slots[number]] * factor

    def sum_up(self, number: int, values: Array) -> Array:
        """The sum of the values of rows over each category of a column."""
        factor = self.factor(number)
        summed = values if factor is None else values * factor
        return np.asarray(np.bincount(self.slots[number], summed, self.sizes[number]), dtype=np.float64)

    def sums(self, values: Array) -> Array:
        """For each term, the sum over the rows that have it: Xᵀ values."""
        parts = [self.sum_up(number, values) for number in range(len(self.sizes))]
        return np.concatenate([[values.sum()], values @ self.numbers, *parts])

    def counts(self, weight: Array) -> list[Array]:
        """How much the rows of each category weigh, for every column: Σ weight · factor²."""
        return [self.sum_up(n, weight * self.spread_out(n, np.ones(size))) for n, size in enumerate(self.sizes)]

    def gram(self, weight: Array) -> Array:
        """Products of the functions of numbers, over the rows; those that say the same are told apart by a trifle."""
        products = self.numbers.T @ (weight[:, None] * self.numbers)
        return np.asarray(products + (ALIKE * float(weight.sum()) + TINY) * np.eye(len(products)))

    def products(self, weight: Array) -> Array:
        """Products of all terms, over the rows: XᵀΩX, block by block."""
        lines = np.column_stack([np.ones(len(weight)), self.numbers])
        columns = range(len(self.sizes))
        factors = [self.spread_out(number, np.ones(self.sizes[number])) for number in columns]

        def block(one: int, other: int) -> Array:
            sizes = self.sizes[one], self.sizes[other]
            both = self.slots[one] * sizes[1] + self.slots[other]
            found = np.bincount(both, weight * factors[one] * factors[other], sizes[0] * sizes[1])
            return np.asarray(found.reshape(sizes), dtype=np.float64)

        sides = [np.stack([self.sum_up(number, weight * line) for line in lines.T]) for number in columns]
        top = [lines.T @ (weight[:, None] * lines), *sides]
        rest = [[sides[one].T, *(block(one, other) for other in columns)] for one in columns]
        return np.block([top, *rest])

    def penalties(self, components: Components) -> Array:
        """What each term has on the diagonal: the noise over its own variance. μ is free, some weights nearly so."""
        n_shrunk = self.numbers.shape[1] - self.n_free
        shares = [components.noise / variance for variance in (components.numbers, *components.columns)]
        parts = [np.full(size, share) for size, share in zip((n_shrunk, *self.sizes), shares, strict=True)]
        return np.concatenate([[0.0], parts[0], np.full(self.n_free, NEARLY_FREE), *parts[1:]])


def solve(design: Crossed, z: Array, weight: Array, components: Components) -> Array:
    """The posterior mean of all terms, rows of no weight left out.

    Few terms are solved for directly: where columns go together, conjugate gradients take a hundred steps, each as long
    as all products of an ordinary table (a seventh of the time for 15,000 rows of eight columns).
    """
    penalties, end = design.penalties(components), design.starts[0]
    if len(penalties) <= MOST_DIRECT and weight.any():
        trifle = ALIKE * float(weight.sum()) * np.eye(len(penalties))
        matrix = design.products(weight) + np.diag(penalties) + trifle
        return np.asarray(np.linalg.solve(matrix, design.sums(weight * z)))
    diagonal = np.maximum(np.concatenate(design.counts(weight)) + penalties[end:], TINY)
    total = max(float(weight.sum()), TINY)
    inverse = np.linalg.inv(design.gram(weight) + np.diag(penalties[1:end])) if end > 1 else np.empty((0, 0))

    def multiply(terms: Array) -> Array:
        return design.sums(weight * design.at_rows(terms)) + penalties * terms

    def precondition(terms: Array) -> Array:
        return np.concatenate([[terms[0] / total], inverse @ terms[1:end], terms[end:] / diagonal])

    shape = (len(penalties), len(penalties))
    matrix = LinearOperator(shape, matvec=multiply, dtype=np.float64)
    roughly = LinearOperator(shape, matvec=precondition, dtype=np.float64)
    centre = float(weight @ z) / total  # conjugate gradients need not find it
    found, _ = cg(matrix, design.sums(weight * (z - centre)), M=roughly, rtol=TOLERANCE, maxiter=MOST_STEPS)
    found[0] += centre
    return np.asarray(found)


def learn(
    design: Crossed,
    z: Array,
    weight: Array,
    random: np.random.Generator,
    noise: float | None = None,
    most: float = np.inf,
    brief: bool = False,
) -> Learnt:
    """The variances, and how firmly the effects of each column are known.

    The `noise` may be known. Standard deviations of effects are half-Cauchy before, with the scale of z itself, or with
    √`most` if that is less. A `brief` look serves where only the terms matter, and not how firmly they are known.
    """
    chain = _Chain(design, z, weight, random, noise, most)
    for _ in range(BRIEF if brief else BURN_IN):
        chain.sweep()
    # A conditional mean and a conditional variance at each sweep make a steadier estimate than the draws themselves.
    sums = [np.zeros((2, 3, size)) for size in design.sizes]
    deviations = []
    n_sweeps = int(np.clip(WORK // (len(z) * len(design.sizes)), FEWEST_SWEEPS, MOST_SWEEPS))
    n_sweeps = BRIEF if brief else n_sweeps
    for _ in range(n_sweeps):
        for total, (mean, variance), count in zip(sums, chain.sweep(), chain.counts, strict=True):
            centred, within = _centred(mean, variance, count > 0)
            total += [[mean, mean**2, variance], [centred, centred**2, within]]
        deviations.append(np.minimum(np.sqrt([chain.noise, chain.numbers, *chain.columns]), chain.widest_deviation))
    usual = np.mean(deviations, axis=0) ** 2  # shrinks as all of them do on average, or nearly so
    components = Components(float(usual[0]), tuple(usual[2:].tolist()), float(usual[1]))
    found = [total / n_sweeps for total in sums]
    variances = [np.maximum(total[:, 1] - total[:, 0] ** 2, 0.0) + total[:, 2] for total in found]
    return Learnt(components, [one[0] for one in variances], [one[1] for one in variances])


def _centred(mean: Array, variance: Array, seen: Any) -> tuple[Array, Array]:
    """Mean and variance of independent effects about the average of those that have rows; others stay as they are."""
    size = max(int(seen.sum()), 1)
    around = (1.0 - 2.0 / size) * variance + variance.sum(where=seen) / size**2
    return np.where(seen, mean - mean.sum(where=seen) / size, mean), np.where(seen, around, variance)


class _Chain:
    """A Gibbs sampler of all terms and variances; `residual` is always z less all of them."""

    def __init__(
        self,
        design: Crossed,
        z: Array,
        weight: Array,
        random: np.random.Generator,
        noise: float | None,
        most: float,
    ) -> None:
        self.design, self.weight, self.random, self.known = design, weight, random, noise
        self.total = max(float(weight.sum()), TINY)
        self.residual = z - float(weight @ z) / self.total
        spread = max(float(weight @ self.residual**2) / self.total, TINY)
        self.widest = min(most, spread)  # the square of the scale of the priors of standard deviations
        self.widest_deviation = WIDEST * np.sqrt(self.widest)
        self.noise = spread / 2.0 if noise is None else noise
        self.columns = [spread / 2.0 / len(design.sizes)] * len(design.sizes)
        self.factors = [np.sqrt(variance) for variance in self.columns]
        self.numbers = spread / 2.0 / max(design.numbers.shape[1], 1)
        self.counts = design.counts(weight)
        self.effects = [np.zeros(size) for size in design.sizes]
        self.nested = list(_nested(design))
        self.by_numbers = np.zeros_like(z)
        self.gram = design.gram(weight)

    def sweep(self) -> list[tuple[Array, Array]]:
        """Draw every term and variance once; returns the conditional mean and variance of each column's effects."""
        if self.design.numbers.shape[1]:
            self._draw_numbers()
        found = [self._draw_column(number) for number in range(len(self.columns))]
        for below, above, parents in self.nested:
            self._exchange(below, above, parents)
        shift = float(self.weight @ self.residual) / self.total
        self.residual -= shift + np.sqrt(self.noise / self.total) * self.random.standard_normal()
        if self.known is None:
            squares = float(self.weight @ self.residual**2)
            drawn = max(squares, TINY) / self.random.chisquare(max(self.total - 1.0, 1.0))
            self.noise = min(drawn, WIDEST**2 * self.widest)
        return found

    def _draw_numbers(self) -> None:
        design, size = self.design, self.design.numbers.shape[1]
        self.residual += self.by_numbers
        penalties = design.penalties(Components(self.noise, tuple(self.columns), self.numbers))[1 : 1 + size]
        root = np.linalg.cholesky(self.gram + np.diag(penalties))
        half = np.linalg.solve(root, (self.weight * self.residual) @ design.numbers)
        drawn = half + np.sqrt(self.noise) * self.random.standard_normal(size)
        weights = np.linalg.solve(root.T, drawn)
        self.by_numbers = design.numbers @ weights
        self.residual -= self.by_numbers
        n_shrunk = size - design.n_free
        if n_shrunk:
            squares = float((weights[:n_shrunk] ** 2).sum()) + self.widest / n_shrunk
            self.numbers = squares / self.random.chisquare(1.0 + n_shrunk)

    def _draw_column(self, number: int) -> tuple[Array, Array]:
        design, count = self.design, self.counts[number]
        self.residual += design.spread_out(number, self.effects[number])
        precision = count + self.noise / self.columns[number]
        mean = design.sum_up(number, self.weight * self.residual) / precision
        variance = np.asarray(self.noise / precision, dtype=np.float64)
        effects = mean + np.sqrt(variance) * self.random.standard_normal(len(count))
        # Effects are a factor times raw ones, both drawn: a half-Cauchy prior of their standard deviation (A. Gelman,
        # 2006), and a sampler that does not stay for long where a variance is near zero.
        raw, seen = effects / self.factors[number], count > 0
        drawn = design.spread_out(number, raw)
        squares = float(self.weight @ drawn**2) + self.noise / self.widest
        factor = float((self.weight * drawn) @ self.residual) / squares
        factor += np.sqrt(self.noise / squares) * self.random.standard_normal()
        variance_of_raw = (1.0 + float((raw[seen] ** 2).sum())) / self.random.chisquare(1.0 + seen.sum())
        factor = np.copysign(max(abs(factor), np.sqrt(LEAST_SHARE * self.noise / variance_of_raw)), factor)
        effects = factor * raw
        self.factors[number], self.columns[number] = factor, float(factor**2 * variance_of_raw)
        self.residual -= factor * drawn
        self.effects[number] = effects
        if design.factor(number) is None:
            # What all effects have in common is as well part of μ: as much as chance has it goes over.
            shift = effects[seen].mean()
            shift += np.sqrt(self.columns[number] / seen.sum()) * self.random.standard_normal()
            self.effects[number] = effects - shift
        return mean, variance

    def _exchange(self, below: int, above: int, parents: Codes) -> None:
        """Let categories give to those that hold them what they have in common, as much as chance has it."""
        child, parent, size = self.effects[below], self.effects[above], len(self.effects[above])
        held = parents >= 0
        n_children = np.bincount(parents[held], minlength=size)
        common = np.bincount(parents[held], child[held], size)
        precision = n_children / self.columns[below] + 1.0 / self.columns[above]
        mean = (common / self.columns[below] - parent / self.columns[above]) / precision
        shift = mean + np.sqrt(1.0 / precision) * self.random.standard_normal(size)
        self.effects[above] = parent + shift
        self.effects[below] = child - np.where(held, shift[parents], 0.0)


def _nested(design: Crossed) -> Iterator[tuple[int, int, Codes]]:
    """Columns whose categories lie each within one of another column, and in which; -1 of those without rows."""
    plain = [number for number in range(len(design.sizes)) if design.factor(number) is None]
    for below, above in permutations(plain, 2):
        parents = np.full(design.sizes[below], -1, dtype=np.intp)
        parents[design.slots[below]] = design.slots[above]
        if (parents[design.slots[below]] == design.slots[above]).all():
            yield below, above, parents
