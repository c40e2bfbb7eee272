"""What a cell of a notebook shows: short texts, and HTML in which names stay text."""

import re

import numpy as np
import pandas
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from catbayes import SamplingBayesianEncoder, SamplingClassifier, compare, displays
from catbayes.datasets import make_transactions
from catbayes.diagnostics import decompose_loss, leakage, shrinkage

NASTY = "<b>city</b> & $co"


@pytest.fixture(scope="module")
def things():
    """Everything that a cell can end with, of a table with 500 categories and a nasty name."""
    random = np.random.default_rng(0)
    city = random.choice(500, 1500, p=np.arange(1, 501) / np.arange(1, 501).sum())
    y = (random.random(1500) < random.beta(2, 6, 500)[city]).astype(int)
    colour = random.integers(3, size=1500).astype(str)
    X = pandas.DataFrame({NASTY: np.char.add("c", city.astype(str)), "colour": colour})
    encoder = SamplingBayesianEncoder(random_state=0)
    fitted = SamplingBayesianEncoder(random_state=0).fit(X, y)
    forest = SamplingClassifier(RandomForestClassifier(10, random_state=0), random_state=0)
    model = SamplingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    leaks = leakage(encoder, X, y, cv=2)
    quick = {"encoders": ["target", "ordinal"], "models": ["linear"], "repeats": 1, "cv": 2}
    return {
        "posteriors_": fitted.posteriors_,
        "evidence_": fitted.evidence_,
        "column": fitted.evidence_.columns[0],
        "encoding_": fitted.encoding_,
        "draws": encoder.fit_draws(X, y),
        "dataset": make_transactions(300),
        "shrinkage": shrinkage(fitted),
        "leakage": leaks,
        "loss": decompose_loss(model, X[:100], y[:100]),
        "comparison": compare(X, y, **quick),
        "nothing": compare(X, y, time_budget=0, **quick),
        "PosteriorDisplay": displays.PosteriorDisplay.from_estimator(fitted, NASTY),
        "ShrinkageDisplay": displays.ShrinkageDisplay.from_estimator(fitted, NASTY),
        "PriorDisplay": displays.PriorDisplay.from_estimator(encoder, X, y),
        "DrawsDisplay": displays.DrawsDisplay.from_estimator(model, X[:200], y[:200], n_draws=(1, 2), cv=2),
        "DecompositionDisplay": displays.DecompositionDisplay.from_estimator(model, X[:100], y[:100]),
        "LeakageDisplay": displays.LeakageDisplay(leaks),
        "ImportanceDisplay": displays.ImportanceDisplay.from_estimator(forest, X, y),
    }


def test_every_display_is_among_them(things):
    assert {name for name in things if name.endswith("Display")} == set(displays.__all__) - {"Display"}


def test_texts_are_short_and_html_keeps_names_as_text(things):
    for name, thing in things.items():
        text, page = repr(thing), thing._repr_html_()
        assert len(text) < 2_000, name
        assert len(text.splitlines()) <= 16, name
        assert not re.search(r"\bnan\b|array\(", text + page), name
        assert "<b>" not in page, name
    for name in ("posteriors_", "evidence_", "shrinkage", "leakage", "PosteriorDisplay", "ImportanceDisplay"):
        assert NASTY in repr(things[name]), name
        assert "&lt;b&gt;city&lt;/b&gt; &amp; $co" in things[name]._repr_html_(), name


def test_posteriors_are_told_column_by_column(things):
    shown = repr(things["posteriors_"])
    beliefs = things["posteriors_"][NASTY]
    seen = beliefs[beliefs["kind"] == "seen"]
    line = next(line for line in shown.splitlines() if line.startswith(NASTY))
    centre = np.average(seen["mean"], weights=seen["count"])
    signal = np.sqrt(np.average((seen["mean"] - centre) ** 2, weights=seen["count"]))
    weight = np.average(seen["shrinkage"], weights=seen["count"])
    assert f"{len(seen)}  1,500" in line
    assert f"{signal:.4f}" in line
    assert f"{weight:.4f}" in line
    without = next(line for line in shown.splitlines() if line.startswith("colour"))
    assert "no signal" in without
    assert "0.0000  " in without


def test_what_was_not_run_is_no_verdict_and_has_no_times(things):
    page = things["nothing"]._repr_html_()
    assert "<td" not in page
    assert "target and ordinal with logistic: not run: the time was up" in page
    page = things["comparison"]._repr_html_()
    assert page.count("<tr>") == 3
    assert things["comparison"].sentence.strip() in repr(things["comparison"])


def test_a_drawn_display_shows_its_sentence_only(things):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    display = things["PosteriorDisplay"]
    assert "12 of" in repr(display)
    assert "<table>" in display._repr_html_()
    _, ax = pyplot.subplots()
    display.plot(ax=ax)
    assert "12 of" in repr(display)
    assert not repr(display).endswith(":")
    assert "<table>" not in display._repr_html_()
    pyplot.close("all")
