"""What a cell of a notebook shows of a comparison: short texts, and HTML in which names stay text."""

import re

import numpy as np
import pandas
import pytest

from catbayes import compare

NASTY = "<b>city</b> & $co"


QUICK = {"encoders": ["target", "ordinal"], "models": ["linear"], "repeats": 1, "cv": 2}


@pytest.fixture(scope="module")
def table():
    """A table of 500 categories with a nasty name."""
    random = np.random.default_rng(0)
    city = random.choice(500, 1500, p=np.arange(1, 501) / np.arange(1, 501).sum())
    y = (random.random(1500) < random.beta(2, 6, 500)[city]).astype(int)
    return pandas.DataFrame({NASTY: np.char.add("c", city.astype(str))}), y


@pytest.mark.parametrize("time_budget", [None, 0])
def test_a_comparison_is_a_short_text_and_html_that_keeps_names_as_text(table, time_budget):
    found = compare(*table, time_budget=time_budget, **QUICK)
    text, page = repr(found), found._repr_html_()
    assert found.sentence.strip() in text
    assert len(text) < 2_000
    assert not re.search(r"\bnan\b|array\(", text + page)
    assert "<b>" not in page
    if time_budget is None:
        assert page.count("<tr>") == 3
    else:
        assert "<td" not in page
        assert "target and ordinal with logistic: not run: the time was up" in page
