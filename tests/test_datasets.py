"""Simulated transactions follow their truth, and public tables are those that were published."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from catbayes.datasets import make_transactions

TARGETS = ("fraud", "outcome", "amount", "visits")
LABELS = ["disputed", "fraud", "paid"]


@pytest.fixture(scope="module")
def drawn():
    return {target: make_transactions(target=target) for target in TARGETS}


@pytest.mark.parametrize("target", TARGETS)
def test_targets_have_the_mean_of_their_truth(drawn, target):
    data = drawn[target]
    truth = data.truth if target == "outcome" else data.truth[:, None]
    y = np.stack([data.y == label for label in LABELS], axis=1) if target == "outcome" else data.y[:, None]
    variance = {"visits": truth, "amount": truth**2 / 4}.get(target, truth * (1 - truth))
    for mean, value, spread in zip(truth.T, y.T, variance.T, strict=True):
        for rows in np.array_split(np.argsort(mean), 20):
            assert abs((value - mean)[rows].sum()) < 4 * np.sqrt(spread[rows].sum())


def test_devices_have_no_effect_and_few_merchants_have_a_large_one(drawn):
    effects = drawn["fraud"].effects
    assert set(effects["device"].values()) == {0.0}
    assert 0.1 < np.mean(np.abs(list(effects["merchant"].values())) > 0.4) < 0.25


@pytest.mark.parametrize("frame", ["polars", "pyarrow"])
def test_a_seed_gives_the_same_table_in_every_library(frame):
    pytest.importorskip(frame)
    ours, theirs = make_transactions(500), make_transactions(500, frame=frame)
    np.testing.assert_array_equal(ours.y, theirs.y)
    table = nw.from_native(theirs.table, eager_only=True)
    for name in ours.table:
        missing = ours.table[name].isna().to_numpy()
        np.testing.assert_array_equal(table[name].is_null().to_numpy(), missing)
        np.testing.assert_array_equal(table[name].to_numpy()[~missing], ours.table[name].to_numpy()[~missing])


def test_a_seed_gives_the_same_columns_for_every_target(drawn):
    columns = drawn["fraud"].table
    pd.testing.assert_frame_equal(drawn["visits"].table, columns)
    pd.testing.assert_frame_equal(drawn["amount"].table, columns.drop(columns="amount"))
    np.testing.assert_array_equal(drawn["amount"].y, columns["amount"])
    assert not make_transactions(random_state=1).table["merchant"].equals(columns["merchant"])
