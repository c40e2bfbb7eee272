"""Names and values that were made to break queries, in databases that run them: rows and answers stay what they are."""

import numpy as np
import pandas
import pytest

from catbayes import SamplingBayesianEncoder, Scaled
from databases import DATABASES, literal, quoted

HOSTILE = [
    "'; DROP TABLE catbayes_test; --",
    "\\",
    "\\'",
    "a\\' OR 1=1 -- ",
    '"',
    "`",
    "''",
    "a\nb",
    "a\tb",
    "%s {} $1 ? :name",
    "/* */",
    "oslo",
    "Oslo",
    "OSLO",
    "oslo ",
    "",
    "ß",
    "ss",
    "é",
    "e\u0301",
    "\U0001f600",
    "NULL",
    "\u202e",
]
NAMES = ['a"b', "a`b", "a'b", "a\\b", "drop table catbayes_test;--", "select"]


@pytest.mark.parametrize("dialect", DATABASES)
def test_hostile_names_and_values_are_encoded_as_transform_does(dialect):
    random = np.random.default_rng(0)
    train = pandas.DataFrame({name: random.permutation(HOSTILE * 4) for name in NAMES})
    encoder = SamplingBayesianEncoder("all", interactions=[(NAMES[0], NAMES[3])], prior=Scaled(0.1), random_state=0)
    encoder.fit(train, random.normal(size=len(train)))
    new = pandas.concat([train[:40], train[:2].map(lambda cell: cell + "x"), train[:2].map(lambda cell: None)])
    names = [quoted(name, dialect) for name in NAMES]
    kind = "VARCHAR(100)" if dialect == "mysql" else "TEXT"
    rows = [
        f"({number}, {', '.join(literal(cell if isinstance(cell, str) else None, dialect) for cell in row)})"
        for number, row in enumerate(new.itertuples(index=False))
    ]
    with DATABASES[dialect]() as run:
        run(f"CREATE TABLE catbayes_test (id INTEGER, {', '.join(f'{name} {kind}' for name in names)})")
        run(f"INSERT INTO catbayes_test VALUES {', '.join(rows)}")
        run(f"CREATE TABLE encoded AS {encoder.to_sql(dialect, 'catbayes_test')}")
        found = run("SELECT * FROM encoded ORDER BY id")
        left = run("SELECT count(*) FROM catbayes_test")
    expected = np.asarray(encoder.transform(new), dtype=float)
    assert int(left[0][0]) == len(found) == len(new)
    answers = np.array([[float(cell) for cell in row[-expected.shape[1] :]] for row in found])
    np.testing.assert_allclose(answers, expected, rtol=1e-12)
