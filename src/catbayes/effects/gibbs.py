"""Variances of a linear model with crossed effects, and how firmly each effect is known.

A short Gibbs sampler draws one term after the other given the others, and the variances given all terms. It averages
over what the variances may be, so that the uncertainty of few categories, whose variance is hardly known, is not too
small; and the variances that it gives shrink effects as far as all that were drawn do on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import brentq

from catbayes.core.arrays import TINY
from catbayes.core.validation import Array, Codes
from catbayes.effects.mixed import ALIKE, Components, Crossed, Equations

__all__ = ["Learnt", "learn"]

BURN_IN, BRIEF = 30, 15
FEWEST_SWEEPS, MOST_SWEEPS, WORK = 90, 250, 2_500_000
"""Sweeps that are averaged over: as many as there is time for, by products."""
WIDEST = 3.0
"""Standard deviations count for so many of the response's at most: of two rows or categories, they have no end."""
ROUNDING = 1e-13
FIRST_ROWS = 200
"""Rows that are looked at first to see whether one column lies within another."""
LEAST_SHARE = 1e-6
"""Variances of effects are at least this part of that of the noise: smaller ones have the same effect."""


class Learnt(NamedTuple):
    """What is learnt before the terms: the variances, and those of the effects of each column in the posterior.

    The latter are about the average of the categories that have rows: what μ is hardly matters.
    """

    components: Components
    variances: list[Array]


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
    if sample is not equations:  # all rows inform the variances more than some of them
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
        self.crossed = [products.crossed_of(start, end) for start, end in pairwise(design.starts)]
        # The products of μ, the numbers and the effects are added up once a sweep: there are many lines.
        self.first = np.concatenate([np.zeros(len(products.lines)), products.sides[:, 0]])
        self.by_numbers, self.by_effects = np.zeros(len(products.sides)), np.zeros(len(products.lines))
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
        left = self._left()
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

    def _left(self) -> Array:
        """What all terms leave over, summed over the rows of each."""
        products, end = self.equations.products, self.design.starts[0]
        by_lines, effects = self.terms[:end], self.terms[end:]
        self.by_effects = effects @ products.sides
        others = products.lines @ by_lines + self.by_effects, self.by_numbers + products.crossed @ effects
        return np.asarray(self.equations.right - np.concatenate(others) - self.terms[0] * self.first)

    def _draw_numbers(self) -> None:
        design, size = self.design, self.design.numbers.shape[1]
        end, products = 1 + size, self.equations.products
        penalties = design.penalties(Components(self.noise, tuple(self.columns), self.numbers))[1:end]
        left = self.equations.right[1:end] - products.lines[1:, 0] * self.terms[0] - self.by_effects[1:]
        root = np.linalg.cholesky(self.gram + np.diag(penalties))
        half = solve_triangular(root, left, lower=True, check_finite=False)
        drawn = half + np.sqrt(self.noise) * self.random.standard_normal(size)
        weights = solve_triangular(root, drawn, lower=True, trans="T", check_finite=False)
        self.terms[1:end], self.by_numbers = weights, products.sides[:, 1:] @ weights
        # The line of a number is among those that shrink, whether or not categories have slopes of it.
        n_shrunk = size - design.n_free
        squares = float((weights[:n_shrunk] ** 2).sum()) + self.widest / n_shrunk
        self.numbers = squares / self.random.chisquare(1.0 + n_shrunk)

    def _draw_column(self, number: int) -> tuple[Array, Array]:
        place, count, end = self.places[number], self.counts[number], self.design.starts[0]
        others = self.crossed[number] @ self.terms[end:] - count * self.terms[place] + self.terms[0] * self.first[place]
        others += self.by_numbers[place.start - end : place.stop - end]
        left = self.equations.right[place] - others  # what the other terms leave over, summed over each category
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
        return [_share(count, ratio) for count, ratio in zip(self._informing(ratios), ratios, strict=True)]

    def variances(self, noise: float, shares: Array) -> tuple[float, ...]:
        """Variances of effects with these shares: they shrink as all that were drawn do on average."""
        ratios = [0.0] * len(shares)
        for number in np.argsort([-size for size in self.design.sizes], kind="stable"):  # those within others first
            count = self._informing(ratios)[number]
            low, high = LEAST_SHARE, WIDEST**2 * self.widest / noise

            def beyond(log: float, count: Array = count, share: float = shares[number]) -> float:
                return _share(count, np.exp(log)) - share

            inside = high > low and beyond(np.log(low)) < 0.0 < beyond(np.log(high))
            nearest = low if beyond(np.log(low)) >= 0.0 else max(low, high)
            ratios[number] = float(np.exp(brentq(beyond, np.log(low), np.log(high)))) if inside else nearest
        return tuple(noise * ratio for ratio in ratios)

    def _informing(self, ratios: list[float]) -> list[Array]:
        """Rows that inform each category; those of nested categories count by how much these differ."""
        found = list(self.counts)
        for below, above, parents in self.nested:
            nested, count = parents >= 0, self.counts[below]
            others = np.bincount(parents[nested], (count / (1.0 + count * ratios[below]))[nested], len(found[above]))
            found[above] = np.minimum(found[above], others)
        return found

    def _exchange(self, below: int, above: int, parents: Codes) -> None:
        """Gibbs step: move the shared mean of nested categories to their parent."""
        child, parent = self.terms[self.places[below]], self.terms[self.places[above]]
        size = len(parent)
        nested = parents >= 0
        n_children = np.bincount(parents[nested], minlength=size)
        common = np.bincount(parents[nested], child[nested], size)
        precision = n_children / self.columns[below] + 1.0 / self.columns[above]
        mean = (common / self.columns[below] - parent / self.columns[above]) / precision
        shift = mean + np.sqrt(1.0 / precision) * self.random.standard_normal(size)
        child -= np.where(nested, shift[parents], 0.0)
        parent += shift


def _share(count: Array, ratio: float) -> float:
    """The weight n r / (n r + 1) of n rows against a prior of r times their variance, on average."""
    known = count[count > 0] * ratio
    return float((known / (known + 1.0)).mean()) if known.size else 0.0


def _nested(design: Crossed) -> Iterator[tuple[int, int, Codes]]:
    """Columns whose categories lie each within one of another column, and in which; -1 of those without rows."""
    plain = [number for number in range(len(design.sizes)) if design.factor(number) is None]
    n_held = [np.count_nonzero(np.bincount(slots)) for slots in design.slots]
    for below, above in permutations(plain, 2):
        own, others, size = design.slots[below], design.slots[above], design.sizes[below]
        # Of many columns there are very many pairs, nearly all of which have a few rows that settle it.
        if n_held[below] < n_held[above] or _parents(own[:FIRST_ROWS], others[:FIRST_ROWS], size) is None:
            continue
        parents = _parents(own, others, size)
        if parents is not None:
            yield below, above, parents


def _parents(below: Codes, above: Codes, size: int) -> Codes | None:
    """The one slot of another column that each slot goes with, -1 of those without rows; None where one has two."""
    parents = np.full(size, -1, dtype=np.intp)
    parents[below] = above
    return parents if (parents[below] == above).all() else None
