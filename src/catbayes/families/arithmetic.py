"""Arithmetic that several families share: what is left of a parameter, rising factorials, and maxima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import betaincinv, betaln, digamma, gammaln, ndtri
from scipy.stats import betabinom

from catbayes.core.arrays import TINY, rounding, row_sums, tiny, where
from catbayes.core.validation import Array

NO_SIGNAL = 100.0
"""Prior strength, in multiples of the table's total weight, that leaves every category on the prior."""

NORMAL_BETA = 1e10
"""From here on a Beta is normal to 1e-5 of its standard deviation, and its inverse is less exact than that."""

SMALLEST_SHARE = 1e-9
"""Share of a class that no row has, in a prior worth so many rows."""

FAR = 1e6
"""From here on Stirling's series of log Γ is as exact as a number can be."""


def no_signal(total: Any) -> float:
    """Prior strength of a column without signal, however small its weights are."""
    return float(max(NO_SIGNAL * total, 10.0))


def around(parent: Any, strength: Any) -> Any:
    """The distribution of θ of a child without data, about a parent with this distribution.

    Children vary about their parent as the mean of `strength` rows would. The variances of both add up where the child
    is worth S ν / (S + ν - v₂), and at most as much as either.
    """
    known = parent.strength
    return parent.worth(known * strength / np.maximum(known + strength - parent.curvature, np.maximum(known, strength)))


def likeliest_strength(parents: Any, statistics: Any, root: Any) -> float:
    """The strength of children about their parents, one for each, that makes the children most likely."""
    seen = np.flatnonzero(statistics.count > 0)
    parents, statistics = parents.take(seen), statistics.take(seen)

    def cost(x: float) -> float:
        return -float(around(parents, np.exp(x)).varying_as(root).log_marginal(statistics).sum())

    low, high = np.log(1e-2), np.log(no_signal(statistics.count.sum()))
    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    if cost(high) - best.fun < 1e-2:  # children do not differ, or have too few rows
        return float(np.exp(high))
    return float(np.exp(best.x))


def left_over(before: Array, taken: Any, weight: Any) -> Array:
    """What is left of a parameter; nothing, where that is rounding alone, whose digits would reveal what was taken."""
    left = before - taken
    return where(left <= rounding(left) * weight, tiny(left), left)


def log_rising(alpha: Any, count: Any) -> Array:
    """Log Γ(α + n) / Γ(α), right even where α is so large that the two logarithms agree in most digits."""
    seen = np.where(count > 0, count, 1.0)
    if not np.any(alpha > FAR):
        return np.where(count > 0, gammaln(seen) - betaln(alpha, seen), 0.0)
    far = np.where(alpha > FAR, alpha, FAR)
    stirling = seen * (np.log(far) - 1.0) + (far + seen - 0.5) * np.log1p(seen / far)
    stirling = stirling + (1.0 / (far + seen) - 1.0 / far) / 12.0
    rising = np.where(alpha > FAR, stirling, gammaln(seen) - betaln(np.minimum(alpha, FAR), seen))
    return np.where(count > 0, rising, 0.0)


def digamma_rise(x: Any, step: Any) -> Array:
    """ψ(x + d) - ψ(x), right even where x is so large that the two agree in most digits."""
    far = np.where(x > 200.0, x, 200.0)
    end = far + step
    series = np.log1p(step / far) + step / (2.0 * far * end) + (1.0 / far**2 - 1.0 / end**2) / 12.0
    series = series - (1.0 / far**4 - 1.0 / end**4) / 120.0
    return np.asarray(np.where(x > 200.0, series, digamma(x + step) - digamma(x)))


def beta_quantile(alpha: Any, beta: Any, probability: Any) -> Array:
    """Quantile of Beta(α, β); of a normal where both are so large that the other is lost in rounding, or is NaN."""
    alpha, beta = np.asarray(alpha), np.asarray(beta)
    mean, strength = alpha / (alpha + beta), alpha + beta
    normal = mean + np.sqrt(mean * (1.0 - mean) / (strength + 1.0)) * ndtri(probability)
    return np.asarray(np.where(np.minimum(alpha, beta) > NORMAL_BETA, normal, betaincinv(alpha, beta, probability)))


Objective = Callable[[Array], tuple[float, Array]]
"""Value and gradient at parameters."""


def maximise(
    objective: Objective, start: Any, bounds: Sequence[tuple[float, float]], tolerance: float = 2.2e-9
) -> tuple[Array, float]:
    """Climb to a maximum inside the bounds by quasi-Newton steps, until the value grows by less than its share."""

    def negative(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x)
        return -value, -gradient

    start, options = np.asarray(start), {"ftol": tolerance}
    result = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return result.x, -float(result.fun)


def likeliest(
    objective: Objective,
    centre: Callable[[Array], float],
    start: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    limits: dict[int, float],
    simpler: Sequence[tuple[dict[int, float], float]],
    rounds: int = 2,
) -> Array:
    """Maximise over all parameters but the first, and compute that one, a centre, from the others, in turns.

    Parameters that are as likely at their limits, {place: value}, are set to them. Simpler models, in which some
    parameters have given values, are taken unless the others gain enough: [({place: value}, gain)].

    A value is flat about its maximum, so that rounding decides where a climb ends. Slopes are not: the result is where
    they are 0, whatever the order of rows.
    """
    best, pinned = np.array(start), dict[int, float]()
    usual, jacobians = objective(best)[0], dict[tuple[int, ...], Array]()

    def gained(x: Array) -> tuple[float, Array]:
        value, slope = objective(x)
        return value - usual, slope  # a climb stops by shares of the value, which large tables make large

    def put(x: Array, values: dict[int, float]) -> Array:
        return np.array([values.get(place, value) for place, value in enumerate(x)])

    def climb(x: Array, pinned: dict[int, float]) -> tuple[Array, float]:
        inside = [(pinned[place],) * 2 if place in pinned else limit for place, limit in enumerate(bounds, start=1)]
        return maximise(gained, x, [(x[0], x[0]), *inside], tolerance=1e-8)

    def settle(x: Array) -> Array | None:
        inside = [place for place, (low, high) in enumerate(bounds, start=1) if low < x[place] < high]
        free = tuple(place for place in inside if place not in pinned)
        if not free:
            return x
        found, jacobians[free] = _to_zero_slopes(gained, x, list(free), jacobians.get(free))
        return found

    for number in range(rounds):
        best[0] = pinned.get(0, centre(best))
        settled = settle(best) if number else None
        if settled is None:
            best, value = climb(best, pinned)
            ends = [({place: limit}, 1e-4) for place, limit in limits.items()]
            for values, gain in [*ends, *(simpler if number == rounds - 1 else [])]:
                if value - gained(put(best, values))[0] < gain:  # the climb has ended on the way there
                    pinned |= values
                    best = put(best, pinned)
            settled = settle(best)
        best = best if settled is None else settled
    value, before = gained(best)[0], dict(pinned)
    for values, gain in simpler:
        if not values.keys() <= pinned.keys():
            other, at = climb(put(best, values), pinned | values)
            if value - at < gain:
                best, value, pinned = other, at, pinned | values
    settled = settle(best) if pinned != before else best
    return best if settled is None else settled


def _to_zero_slopes(
    objective: Objective, x: Array, free: list[int], jacobian: Array | None
) -> tuple[Array | None, Array]:
    """Find where the slopes of some parameters are 0 by Broyden's method, if that is near, and their derivatives."""
    value, slope = objective(x)
    if jacobian is None:
        little = 1e-5 * np.eye(len(x))[free]
        jacobian = np.array([objective(x + move)[1] - slope for move in little])[:, free].T / 1e-5
    found, slope, at, size = x.copy(), slope[free], value, 0.0
    for number in range(20):
        step = np.linalg.lstsq(jacobian, -slope, rcond=None)[0]
        size = float(np.abs(step).max())
        step /= max(1.0, size)
        found[free] += step
        at, gradient = objective(found)
        missed = gradient[free] - slope - jacobian @ step
        jacobian, slope = jacobian + np.outer(missed, step) / max(step @ step, TINY), gradient[free]
        if size < 1e-9 or (size > 0.5 and number > 3):  # in a flat tail every step is as long
            break
    return (found if size < 1e-3 and at > value - 1e-6 else None), jacobian


def small(shape: Array) -> Array:
    """1 / m, for bounds that fall with the shape m of a distribution; where m is next to nothing, just large."""
    return 1.0 / np.maximum(shape, 1e-3)


def beta_shape(alpha: Array, beta: Array) -> tuple[Array, Array]:
    """Skewness and excess kurtosis of Beta(α, β)."""
    total, product = alpha + beta, alpha * beta
    kurtosis = 6.0 * ((alpha - beta) ** 2 * (total + 1.0) - product * (total + 2.0))
    return beta_skewness(alpha, beta), kurtosis / (product * (total + 2.0) * (total + 3.0))


def beta_skewness(alpha: Array, beta: Array) -> Array:
    """Skewness of Beta(α, β)."""
    total = alpha + beta
    return 2.0 * (beta - alpha) * np.sqrt(total + 1.0) / ((total + 2.0) * np.sqrt(alpha * beta))


def beta_binomial_tail(alpha: Array, beta: Array, events: Array, size: Array) -> Array:
    """Two-sided p-value of the number of events among n; of weights, whole numbers that are less extreme."""
    n, share = np.floor(size + 1e-9), np.divide(events, size, out=0.5 + 0.0 * events, where=size > 0)
    many = share * (alpha + beta) > alpha
    few = np.where(many, n - np.floor(share * n + 1e-9), np.ceil(share * n - 1e-9))
    below = betabinom.cdf(few, n, np.where(many, beta, alpha), np.where(many, alpha, beta))
    return np.asarray(np.minimum(1.0, 2.0 * below))


def dirichlet_maximum(weight: Array) -> Array:
    """α that maximises Σ_v log B(α + n_v) / B(α), over strength and centre together.

    The sum needs only how often each count occurs, so a column of 100,000 categories costs a few hundred digammas.
    With no signal the likelihood rises with the strength for ever: then the strength is NO_SIGNAL times the total.
    """
    total = weight.sum(axis=0)
    cap = no_signal(total.sum())
    centre = np.maximum(total, 1e-9 * total.sum()) / total.sum()
    centre /= centre.sum()
    found = [np.unique(column, return_counts=True) for column in (*weight.T, row_sums(weight))]
    # All classes, followed by the categories as wholes, in one array: a step is a few calls on it.
    count, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
    member = np.repeat(np.arange(len(found)), [len(distinct) for distinct, _ in found])
    signed = np.where(member < len(total), times, -times)

    def objective(x: Array) -> tuple[float, Array]:
        strength, share = np.exp(x[0]), _softmax(x[1:])
        alpha = np.append(np.maximum(strength * share, TINY), strength)
        each = alpha[member]
        slopes = np.bincount(member, times * (digamma(each + count) - digamma(alpha)[member]))
        slope = alpha[:-1] * (slopes[:-1] - slopes[-1])
        return float(log_rising(each, count) @ signed), np.append(slope.sum(), slope - share * slope.sum())

    span = 15.0  # no class share further than e^±15 from where it starts
    logits = np.log(centre)
    bounds = [(np.log(1e-2), np.log(cap)), *((logit - span, logit + span) for logit in logits)]
    best, value = maximise(objective, np.append(np.log(min(10.0, cap)), logits), bounds)
    if value - objective(np.append(np.log(cap), logits))[0] < 1e-2:
        return np.asarray(cap * centre)
    return np.asarray(np.exp(best[0]) * _softmax(best[1:]))


def _softmax(logits: Array) -> Array:
    """Shares of these logarithms; scipy's own costs more than the rest of a step."""
    share = np.exp(logits - logits.max())
    return np.asarray(share / share.sum())
