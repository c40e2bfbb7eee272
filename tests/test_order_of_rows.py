"""Posteriors do not depend on the order of rows, nor on the parts in which they were gathered."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from cases import PRIORS, make_target, repeated
from catbayes import SamplingBayesianEncoder, gather

PARTS = {"mean": 1e-9, "sd": 1e-8, "lower": 1e-8, "upper": 1e-8}


def make_table(family, seed):
    """A few rows or many, with signal or without, with weights or without."""
    random = np.random.default_rng(seed)
    n_categories = random.choice([2, 5, 8, 20, 60])
    codes = random.choice(n_categories, n_categories * random.choice([2, 4, 10]) + 2)
    category = repeated(PRIORS[family], n_categories).worth(np.full(n_categories, random.choice([3.0, 10.0, 100.0])))
    theta = category.sample(random)[codes] if seed % 4 else np.repeat(PRIORS[family].mean()[None], len(codes), axis=0)
    y = make_target(family, theta, random)
    y[:2] = [1, 2] if "normal" in family else [0, 1]
    table = pd.DataFrame({"c": [f"c{code}" for code in codes], "y": y})
    return table.assign(w=random.uniform(0.5, 2.0, len(table)) if seed % 3 == 0 else 1.0)


def posteriors_of(encoder, family):
    """Means and intervals, of numbers on the scale of all categories."""
    frame = encoder.posteriors_["c"]
    found = frame.set_index(["category", "class"] if "class" in frame else "category")[[*PARTS]].sort_index()
    return found / np.abs(found).max() if family in ("normal", "lognormal", "robust") else np.log(found)


@pytest.mark.filterwarnings("ignore::catbayes.InputWarning")
@pytest.mark.parametrize("family", PRIORS)
def test_posteriors_do_not_depend_on_the_order_of_rows_or_on_parts(family):
    encoder = SamplingBayesianEncoder("all", family=family, random_state=0)
    for seed in range(20):
        table = make_table(family, seed)
        shuffled = table.sample(frac=1.0, random_state=seed)
        first, second = (
            gather(part, ["c"], "y", weight="w", family=family)
            for part in (shuffled[: len(table) // 3], shuffled[len(table) // 3 :])
        )
        fits = [clone(encoder).fit(rows[["c"]], rows["y"], sample_weight=rows["w"]) for rows in (table, shuffled)]
        whole, *others = (posteriors_of(fitted, family) for fitted in [*fits, clone(encoder).fit(first + second)])
        for other in others:
            for name, tolerance in PARTS.items():
                np.testing.assert_allclose(other[name], whole[name], rtol=0, atol=tolerance, err_msg=f"{seed} {name}")
