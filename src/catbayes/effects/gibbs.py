"""Variances of a linear model with crossed effects, and the uncertainty of each effect.

A short Gibbs sampler draws one term after the other given the others, and the variances given all terms. It averages
over what the variances may be, so that the uncertainty of few categories, whose variance is hardly known, is not too
small; and the variances that it gives shrink effects as far as all that were drawn do on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from catbayes.core.arrays import TINY
from catbayes.core.validation import Array, Codes
from catbayes.effects.mixed import ALIKE, Components, Crossed, Equations

__all__ = ["Learnt", "learn"]

BURN_IN, BRIEF = 30, 15
FEWEST_SWEEPS, MOST_SWEEPS, WORK = 90, 250, 2_500_000
WIDEST = 3.0
"""Bound of standard deviations, in those of the response: of two rows or categories, they have no other."""
ROUNDING = 1e-13
FIRST_ROWS = 200
"""Rows that are looked at first to see whether one column lies within another."""
LEAST_SHARE = 1e-6
"""Variances of effects are at least this part of that of the noise: smaller ones have the same effect."""


class Learnt(NamedTuple):
    """The variances of terms, and the posterior variances of the effects of each column.

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
    """Estimate the variances, and the uncertainty of the effects of each column.

    The `noise` may be known. Standard deviations of effects are half-Cauchy before, with the scale of z itself, or with
    √`most` if that is less. A `brief` chain is for variances that are learnt anew after the next Newton steps.
    """
    sample = equations.sampled(random)
    design, chain = equations.design, _Chain(sample, random, noise, most)
    count, firsts = np.concatenate(chain.counts), np.array(design.starts[:-1]) - design.starts[0]
    seen, size = count > 0, np.array(design.sizes)
    n_seen = np.maximum(np.add.reduceat(seen, firsts, dtype=np.float64), 1.0)

    def average(values: Array) -> Array:
        return np.repeat(np.add.reduceat(np.where(seen, values, 0.0), firsts) / n_seen, size)

    for _ in range(BRIEF if brief else BURN_IN):
        chain.sweep()
    # A conditional mean and a conditional variance at each sweep make a steadier estimate than the draws themselves.
    means, squares, within = np.zeros((3, len(seen)))
    n_sweeps = BRIEF if brief else int(np.clip(WORK // chain.n_products, FEWEST_SWEEPS, MOST_SWEEPS))
    n_seen_of, drawn = np.repeat(n_seen, size), []
    for _ in range(n_sweeps):
        mean, variance = (np.concatenate(of_columns) for of_columns in zip(*chain.sweep(), strict=True))
        mean -= np.where(seen, average(mean), 0.0)  # about the average of the categories that have rows
        means, squares = means + mean, squares + mean**2
        within += np.where(seen, (1.0 - 2.0 / n_seen_of) * variance + average(variance) / n_seen_of, variance)
        drawn.append([chain.noise, chain.numbers, *chain.shares()])
    usual = np.mean(np.sqrt(drawn), axis=0) ** 2
    noise, numbers = np.minimum(usual[:2], [chain.noisiest, WIDEST**2 * chain.widest]).tolist()
    components = Components(noise, chain.variances(noise, np.mean(drawn, axis=0)[2:]), numbers)
    found = np.maximum(squares / n_sweeps - (means / n_sweeps) ** 2, 0.0) + within / n_sweeps
    if sample is not equations:  # all rows inform the variances more than some of them
        share = np.repeat(components.noise / np.array(components.columns), size)
        found *= (count + share) / (np.concatenate(design.counts(equations.weight)) + share)
    return Learnt(components, np.split(found, firsts[1:]))


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
        self.seen = [(count > 0).astype(np.float64) for count in self.counts]
        self.terms = np.zeros(design.starts[-1])
        self.places = [slice(start, end) for start, end in pairwise(design.starts)]
        self.crossed = [products.crossed_of(start, end) for start, end in pairwise(design.starts)]
        # The products of μ, the numbers and the effects are added up once a sweep: there are many lines.
        self.first = np.concatenate([np.zeros(len(products.lines)), products.sides[:, 0]])
        self.by_numbers, self.by_effects = np.zeros(len(products.sides)), np.zeros(len(products.lines))
        self.nested = list(_nested(design))
        lengths, self.directions = np.linalg.eigh(products.lines[1:, 1:])  # all weights have one prior
        self.lengths = np.maximum(lengths, ALIKE * self.total + TINY)
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
        products, end = self.equations.products, self.design.starts[0]
        left = self.equations.right[1:end] - products.lines[1:, 0] * self.terms[0] - self.by_effects[1:]
        precision = self.lengths + self.noise / self.numbers
        drawn = left @ self.directions / precision
        drawn += np.sqrt(self.noise / precision) * self.random.standard_normal(len(precision))
        weights = self.directions @ drawn
        self.terms[1:end], self.by_numbers = weights, products.sides[:, 1:] @ weights
        # The line of a number is among those that shrink, whether or not categories have slopes of it.
        n_shrunk = len(weights) - self.design.n_free
        squares = float((weights[:n_shrunk] ** 2).sum()) + self.widest / n_shrunk
        self.numbers = squares / self.random.chisquare(1.0 + n_shrunk)

    def _draw_column(self, number: int) -> tuple[Array, Array]:
        place, count, end = self.places[number], self.counts[number], self.design.starts[0]
        others = self.crossed[number] @ self.terms[end:] - count * self.terms[place] + self.terms[0] * self.first[place]
        others += self.by_numbers[place.start - end : place.stop - end]
        left = self.equations.right[place] - others  # what the other terms leave over, summed over each category
        precision = count + self.noise / self.columns[number]
        mean, variance = left / precision, self.noise / precision
        effects = mean + np.sqrt(variance) * self.random.standard_normal(len(count))
        # Effects are a factor times raw ones, both drawn: a half-Cauchy prior of their standard deviation (A. Gelman,
        # 2006), and a sampler that does not stay for long where a variance is near zero.
        raw, seen = effects / self.factors[number], self.seen[number]
        n_seen = float(seen.sum())
        squares = float(count @ raw**2) + self.noise / self.widest
        factor = float(raw @ left) / squares
        factor += np.sqrt(self.noise / squares) * self.random.standard_normal()
        variance_of_raw = (1.0 + float(seen @ raw**2)) / self.random.chisquare(1.0 + n_seen)
        factor = np.copysign(max(abs(factor), np.sqrt(LEAST_SHARE * self.noise / variance_of_raw)), factor)
        effects = factor * raw
        self.factors[number], self.columns[number] = factor, float(factor**2 * variance_of_raw)
        if self.design.factor(number) is None:
            # What all effects have in common is as well part of μ: as much as chance has it goes over.
            shift = float(seen @ effects) / n_seen
            shift += np.sqrt(self.columns[number] / n_seen) * self.random.standard_normal()
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
        low = np.log(LEAST_SHARE)
        high = np.log(max(WIDEST**2 * self.widest / noise, LEAST_SHARE))
        for number in np.argsort([-size for size in self.design.sizes], kind="stable"):  # those within others first
            count = self._informing(ratios)[number]

            def beyond(log: float, count: Array = count, share: float = shares[number]) -> float:
                return _share(count, np.exp(log)) - share

            log = low if beyond(low) >= 0.0 else high if beyond(high) <= 0.0 else brentq(beyond, low, high)
            ratios[number] = float(np.exp(log))
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
        size, nested = len(parent), parents >= 0
        precision = np.bincount(parents[nested], minlength=size) / self.columns[below] + 1.0 / self.columns[above]
        common = np.bincount(parents[nested], child[nested], size)
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
    n_seen = [np.count_nonzero(np.bincount(slots)) for slots in design.slots]
    for below, above in permutations(plain, 2):
        own, others, size = design.slots[below], design.slots[above], design.sizes[below]
        # Of many columns there are very many pairs, nearly all of which have a few rows that settle it.
        if n_seen[below] < n_seen[above] or _parents(own[:FIRST_ROWS], others[:FIRST_ROWS], size) is None:
            continue
        parents = _parents(own, others, size)
        if parents is not None:
            yield below, above, parents


def _parents(below: Codes, above: Codes, size: int) -> Codes | None:
    """The one slot of another column that each slot goes with, -1 of those without rows; None where one has two."""
    parents = np.full(size, -1, dtype=np.intp)
    parents[below] = above
    return parents if (parents[below] == above).all() else None
