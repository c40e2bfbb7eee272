"""Appendix A: the loss over draws is that of the average prediction, and a penalty that the columns share."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from catbayes import InputError, SamplingClassifier, SamplingRegressor
from catbayes.diagnostics import decompose_loss
from sales import DRAWN, PLAIN, make_table


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_over_draws_is_that_of_the_average_and_the_penalty(weighted):
    X, y = make_table()
    weight = np.random.default_rng(0).uniform(size=600) if weighted else None
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    parts = decompose_loss(model, X, y, weight, n_draws=7)
    draws = model.predict_draws(X, n_draws=7)
    total = np.average(np.mean((y - draws) ** 2, axis=0), weights=weight)
    assert parts.total == pytest.approx(total, rel=1e-12)
    assert parts.of_average == pytest.approx(np.average((y - draws.mean(axis=0)) ** 2, weights=weight), rel=1e-12)
    assert parts.penalty == pytest.approx(np.average(draws.var(axis=0), weights=weight), rel=1e-9)
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)


@pytest.mark.filterwarnings("ignore:FrozenEstimator takes no sample_weight")
def test_shares_of_a_linear_model_are_the_variances_of_its_columns():
    X, y = make_table(n_rows=3000, n_categories=300)
    fitted = SamplingRegressor(LinearRegression(), DRAWN, n_draws=2, random_state=0, **PLAIN).fit(X, y).estimator_
    model = SamplingRegressor(FrozenEstimator(fitted), DRAWN, n_draws=1, random_state=1, **PLAIN).fit(X, y)
    parts = decompose_loss(model, X, y, n_draws=500)
    for number, column in enumerate(["city", "shop"]):
        sd = model.encoder_.posteriors_[column].set_index("category")["sd"]
        variance = (sd[X[column]] ** 2).mean() * model.coef_[number] ** 2
        alone = model.predict_draws(X, columns=[column], n_draws=500).var(axis=0).mean()
        assert alone == pytest.approx(variance, rel=0.1)
        # The draws of two columns are not quite uncorrelated, and what they have in common is shared.
        assert parts.shares[column] == pytest.approx(variance, abs=0.1 * parts.penalty)
    assert model.predict_draws(X[:3], columns=["shop"]).shape == (20, 3)
    with pytest.raises(InputError, match="'number' is not encoded"):
        model.predict_draws(X, columns=["number"])


def test_what_members_disagree_by_is_no_share_of_a_column():
    X, y = make_table()
    tree = DecisionTreeRegressor(max_features=1, max_depth=4)
    model = SamplingRegressor(tree, fit_with="members", n_draws=5, random_state=0).fit(X, y)
    parts = decompose_loss(model, X, y)
    alone = model.predict_draws(X, columns=[]).var(axis=0).mean()
    assert parts.between_members == pytest.approx(alone, rel=1e-9)
    assert sum(parts.shares.values()) + parts.between_members == pytest.approx(parts.penalty, rel=1e-9)


def test_targets_that_do_not_fit_are_refused_by_the_loss():
    X, y = make_table()
    model = SamplingRegressor(Ridge(), random_state=0).fit(X, y)
    assert decompose_loss(model, X, y[:, None]).total == decompose_loss(model, X, y).total
    with pytest.raises(InputError, match="expected one for each row"):
        decompose_loss(model, X, y[:1])
    labels = SamplingClassifier(LogisticRegression(), n_draws=2).fit(X, y > 0)
    with pytest.raises(InputError, match="not fitted on"):
        decompose_loss(labels, X, ["maybe"] * 600)


def test_the_log_loss_splits_likewise():
    X, y = make_table()
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    model = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, labels)
    parts = decompose_loss(model, X, labels, n_draws=6)
    own = model.predict_draws(X, n_draws=6)[:, np.arange(600), (y > 0).astype(int)]
    assert parts.total == pytest.approx(-np.log(own).mean(), rel=1e-12)
    assert parts.of_average == pytest.approx(-np.log(own.mean(axis=0)).mean(), rel=1e-12)
    assert parts.penalty > 0
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)


def test_draws_of_a_calibrated_model_are_calibrated_and_so_is_what_the_loss_is_made_of():
    X, y = make_table()
    bold = DecisionTreeClassifier(random_state=0)  # says 0 or 1, which costs much where it is wrong
    model = SamplingClassifier(bold, predict_with="mean", calibrate=3, random_state=0).fit(X[:300], y[:300] > 0)
    new, truth = X[300:], y[300:] > 0
    np.testing.assert_allclose(model.predict_draws(new, columns=[])[0], model.predict_proba(new), rtol=1e-12)
    parts = decompose_loss(model, new, truth)
    assert parts.of_average < log_loss(truth, np.full(300, truth.mean())) + 0.05
    assert sum(parts.shares.values()) == pytest.approx(parts.penalty, rel=1e-9)
