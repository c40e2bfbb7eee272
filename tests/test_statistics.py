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
@given(rows=table, data=st.data())
def test_any_split_of_the_rows_gives_the_same_statistics(make, rows, data):
    side = [data.draw(st.booleans()) for _ in rows]
    left = make([r for r, s in zip(rows, side, strict=True) if s])
    right = make([r for r, s in zip(rows, side, strict=True) if not s])
    assert_close(left + right, make(rows), 1e6)


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
@given(rows=table, order=st.permutations(range(4)))
def test_relabelling_categories_only_moves_them(make, rows, order):
    order = np.array(order)
    moved = make([(order[c], y, label, w) for c, y, label, w in rows])
    assert_close(moved, make(rows).place(order, 4))


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


def test_rates_in_other_units_are_those_of_events_counted_in_them():
    random = np.random.default_rng(0)
    codes, events, days = random.integers(0, 5, 60), random.poisson(4.0, 60), random.gamma(2.0, 3.0, 60)
    weeks = Moments.from_codes(codes, 7 * events / days, days / 7, n_slots=6)
    assert_close(Moments.from_codes(codes, events / days, days, n_slots=6).per(7.0), weeks)


@pytest.mark.parametrize("make", [moments, tally])
@given(rows=table)
def test_categories_that_are_moved_to_one_slot_become_one(make, rows):
    joined = np.array([2, 0, 2, 0])
    assert_close(make(rows).place(joined, 4), make([(joined[c], *rest) for c, *rest in rows]), 1e6)


def test_the_total_of_little_weight_far_from_zero_is_exact():
    """Though the first category is empty, and all weigh less than one row."""
    y = 1e12 + np.array([0.0, 0.5, 1.0])
    total = Moments.from_codes(np.array([1, 2, 3]), y, np.full(3, 0.125), n_slots=4).total()
    assert [total.count[0], total.mean[0] - 1e12, total.m2[0]] == [0.375, 0.5, 0.0625]
    assert [part.tolist() for part in (Moments.zero(2).total().count, Moments.zero(2).total().mean)] == [[0.0], [0.0]]


@given(rows=st.lists(st.tuples(row, st.integers(0, 4)), min_size=1, max_size=30))
def test_the_past_of_a_row_is_the_rows_of_its_category_with_a_lower_rank(rows):
    told, rank = [one for one, _ in rows], np.array([when for _, when in rows])
    codes, y, label, w = map(np.array, zip(*told, strict=True))
    numbers = Moments.before(codes, rank, y, w, n_slots=4)
    classes = Tally.before(codes, rank, label, w, n_classes=3)
    unweighted = Tally.before(codes, rank, label, n_classes=3), Moments.before(codes, rank, y, n_slots=4)
    for n in range(len(rows)):
        past = [(0, *told[m][1:]) for m in range(len(rows)) if codes[m] == codes[n] and rank[m] < rank[n]]
        expected = moments(past)
        np.testing.assert_allclose(numbers.count[n], expected.count[0], rtol=1e-9, atol=1e-9)
        if expected.count[0] > 0.01:
            np.testing.assert_allclose(numbers.mean[n], expected.mean[0], rtol=1e-6, atol=1e-3)
            np.testing.assert_allclose(numbers.m2[n], expected.m2[0], rtol=1e-6, atol=10.0)
        np.testing.assert_allclose(classes.weight[n], tally(past).weight[0], rtol=1e-9, atol=1e-9)
        assert unweighted[0].count[n] == unweighted[1].count[n] == len(past)
        if not past:
            assert numbers.count[n] == numbers.mean[n] == numbers.m2[n] == 0.0


@pytest.mark.parametrize("make", [moments, tally])
@given(rows=st.lists(row, min_size=1, max_size=20), share=st.floats(0.0, 1.0))
def test_rows_that_count_for_a_share_are_rows_of_that_weight(make, rows, share):
    lighter = make([(*rest, w * share) for *rest, w in rows])
    scaled = make(rows).scaled(share)
    np.testing.assert_allclose(scaled.count, lighter.count, atol=1e-9)
    if make is moments:
        np.testing.assert_allclose(scaled.m2, make(rows).m2 * share)
        np.testing.assert_array_equal(scaled.mean, make(rows).mean)
    by_category = make(rows).scaled(np.array([share, 1.0, 0.0, 1.0]))
    assert_close(by_category.take(np.array([1, 3])), make(rows).take(np.array([1, 3])))
    assert by_category.count[2] == 0.0


@pytest.mark.parametrize("make", [moments, tally])
def test_a_sample_holds_its_parts_and_nothing_else(make):
    rows = [(0, 1.0, 0, 1.0), (0, 3.0, 1, 1.0), (1, 5.0, 2, 2.0), (1, 9.0, 2, 1.0)]
    whole = make(rows)
    for part in (rows, rows[:1], rows[1:3], []):
        assert whole.holds(make(part)).all()
    assert whole.holds(make([(0, 1.0, 0, 3.0)])).tolist() == [False, True, True, True]  # more than there is
    assert whole.holds(make([(2, 1.0, 0, 1.0)])).tolist() == [True, True, False, True]  # of a category without rows
    other = make([(1, 70.0, 0, 1.0)])  # another target than any that is there
    assert whole.holds(other).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("whole", "part", "held"),
    [
        ([(5.0, 2.0)], [(5.0, 3.0)], False),  # half as much again
        ([(5.0, 2.0)], [(4.0, 2.0)], False),  # nothing is left, and it was another target
        ([(1.0, 1.0), (3.0, 1.0)], [(3.1, 1.0)], False),  # the other row cannot have been as far on the other side
        ([(0.0, 2.0)], [(0.0, 1.0)], True),
        ([(1e6, 1.0), (1e6 + 1e-4, 1.0)], [(1e6, 1.0)], True),  # what rounding leaves
    ],
)
def test_a_sample_of_numbers_holds_what_can_have_been_part_of_it(whole, part, held):
    made = (moments([(0, y, 0, w) for y, w in rows]) for rows in (whole, part))
    assert next(made).holds(next(made))[0] == held


def test_classes_move_to_their_places_among_more():
    wide = tally([(0, 0.0, 0, 1.0), (0, 0.0, 1, 2.0), (1, 0.0, 2, 4.0)]).widen(np.array([3, 0, 1]), 4)
    assert wide.weight[:2].tolist() == [[2.0, 0.0, 0.0, 1.0], [0.0, 4.0, 0.0, 0.0]]
