"""Statistics are mergeable values: the laws that every fold over them relies on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catbayes.core.statistics import Moments, Tally

numbers = st.floats(-1e6, 1e6, allow_nan=False)
row = st.tuples(st.integers(0, 3), numbers, st.integers(0, 2), st.floats(0.0, 5.0))
table = st.lists(row, max_size=40)


def moments(rows):
    codes, y, _, w = map(np.array, zip(*rows, strict=True)) if rows else [np.zeros(0, int)] * 4
    return Moments.from_codes(codes.astype(int), y.astype(float), w.astype(float), n_slots=4)


def tally(rows):
    codes, _, label, w = map(np.array, zip(*rows, strict=True)) if rows else [np.zeros(0, int)] * 4
    return Tally.from_codes(codes.astype(int), label.astype(int), w.astype(float), n_slots=4, n_classes=3)


def assert_close(a, b, scale=1.0):
    for name in a.__slots__:
        size = scale**2 if name == "m2" else scale
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=1e-10 * size)


@pytest.mark.parametrize("make", [moments, tally])
@given(first=table, second=table, third=table)
def test_merging_is_a_commutative_monoid(make, first, second, third):
    a, b, c = make(first), make(second), make(third)
    assert_close(a + b, b + a, 1e6)
    assert_close((a + b) + c, a + (b + c), 1e6)
    assert_close(a + make([]), a)
    assert_close(make([]) + a, a)


@pytest.mark.parametrize("make", [moments, tally])
@given(kept=table, removed=table)
def test_subtraction_takes_a_sample_out_again(make, kept, removed):
    kept = [(c, y, label, w + 0.01) for c, y, label, w in kept]
    both = make(kept) + make(removed)
    left, wanted = both - make(removed), make(kept)
    np.testing.assert_allclose(left.count, wanted.count, atol=1e-9)
    present = wanted.count > 0
    if make is moments:
        np.testing.assert_allclose(left.mean[present], wanted.mean[present], atol=1e-5)


@pytest.mark.parametrize("make", [moments, tally])
@given(rows=table)
def test_the_total_is_that_of_a_single_category(make, rows):
    whole = make([(0, y, label, w) for _, y, label, w in rows])
    total = make(rows).total()
    np.testing.assert_allclose(total.count[0], whole.count[0], rtol=1e-10)
    np.testing.assert_allclose(total.mean[0], whole.mean[0], rtol=1e-8, atol=1e-6)
    if make is moments:
        np.testing.assert_allclose(total.m2[0], whole.m2[0], rtol=1e-8, atol=1e-2)


@settings(max_examples=25)
@given(parts=st.integers(1, 12), shift=st.sampled_from([0.0, 1e6, 1e9, 1e12]))
def test_variance_survives_a_target_far_from_zero(parts, shift):
    random = np.random.default_rng(parts)
    noise = random.standard_normal(60_000)
    codes = random.integers(0, 5, len(noise))
    y = shift + noise
    merged = Moments.zero(5)
    for rows in np.array_split(np.arange(len(y)), parts):
        merged = merged + Moments.from_codes(codes[rows], y[rows], n_slots=5)
    for code in range(5):
        centred = y[codes == code] - shift  # the shift is exact in floating point, so is its removal
        assert abs(merged.mean[code] - shift - centred.mean()) <= 1e-12 + 3 * np.spacing(shift)
        exact = np.var(centred)
        assert merged.m2[code] / merged.count[code] == pytest.approx(exact, rel=max(1e-6, 1e-17 * shift))


@pytest.mark.parametrize("make", [moments, tally])
@given(rows=table)
def test_categories_that_are_moved_to_one_slot_become_one(make, rows):
    joined = np.array([2, 0, 2, 0])
    assert_close(make(rows).place(joined, 4), make([(joined[c], *rest) for c, *rest in rows]), 1e6)
