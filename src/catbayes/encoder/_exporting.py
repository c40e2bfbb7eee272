"""Encoders that leave Python: the same numbers from a warehouse, or from a server."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from catbayes.encoder._base import PosteriorEncoder
from catbayes.encoder._column import EncodedColumn
from catbayes.export import Level, Lookup


class ExportableEncoder(PosteriorEncoder):
    """A posterior encoder whose expectations can be looked up elsewhere."""

    def to_sql(self, dialect: str = "duckdb", table: str = "rows") -> str:
        """Write a query that adds to every row of a table what `transform` gives: the posterior expectations.

        Parameters
        ----------
        dialect : str
            Database that is to read the query, by the name that sqlglot has for it: "duckdb", "sqlite", "postgres",
            "bigquery", "snowflake", "spark" and many more.
        table : str
            Table to select from, with its schema if need be: `sales.visits`, or `sales."my visits"`.

        Returns
        -------
        query : str
            One SELECT of all columns of the table and the new ones, called as `catbayes.encode` calls them. Names of
            columns are quoted as they were at fit, and the columns have to be of the types that they had then. Where
            `transform` would raise an error, for `unseen="error"` or `missing="error"`, the new columns are NULL.

        Notes
        -----
        NULL is a missing value, and so is NaN in databases that know it. Text is compared as the database does it: one
        that takes "Oslo" and "OSLO" for the same will join a row to both, if both are categories. SQLite has no dates:
        there they are compared as text, "2024-12-31", with the time after a blank if any has one.

        Examples
        --------
        >>> import pandas as pd
        >>> from catbayes import SamplingBayesianEncoder
        >>> X = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", None]})
        >>> encoder = SamplingBayesianEncoder(prior=0).fit(X, [0, 1, 1, 1])
        >>> print(encoder.to_sql(table="visits"))
        WITH catbayes_0 AS (
          SELECT
            *
          FROM (VALUES
            ('Oslo', 0.5e0),
            ('Rome', 0.6666666666666666e0)) AS known(key_0, output_0)
        )
        SELECT
          catbayes_rows.*,
          CAST(CASE
            WHEN catbayes_rows."city" IS NULL
            THEN 0.6666666666666666e0
            ELSE COALESCE(catbayes_0.output_0, 0.5e0)
          END AS DOUBLE) AS "city_encoded"
        FROM visits AS catbayes_rows
        LEFT JOIN catbayes_0
          ON catbayes_rows."city" = catbayes_0.key_0
        """
        from catbayes.export.sql import write_sql

        return write_sql(self._lookups(), dialect, table)

    def to_onnx(self) -> Any:
        """Make an ONNX model that gives what `transform` gives for the encoded columns: the posterior expectations.

        Returns
        -------
        model : onnx.ModelProto
            Inputs: a tensor of shape (n, 1) for each encoded column, called like it, of strings, int64, double or
            booleans, whichever its categories were at fit. Outputs: a tensor of doubles of shape (n, n_outputs) for
            each encoded column, such as `city_encoded`. In names, all but letters, digits and underscores become
            underscores; the metadata of the model hold the names as they were, and those of the outputs in a tensor.

        Notes
        -----
        The empty string is a missing value unless it is a category, and NaN is one; int64 and booleans have none.
        Where `transform` would raise an error, for `unseen="error"` or `missing="error"`, the outputs are NaN. Columns
        that are not encoded are no part of the model.

        Examples
        --------
        >>> import numpy as np, onnxruntime, pandas as pd
        >>> from catbayes import SamplingBayesianEncoder
        >>> X = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", None]})
        >>> encoder = SamplingBayesianEncoder(prior=0).fit(X, [0, 1, 1, 1])
        >>> session = onnxruntime.InferenceSession(encoder.to_onnx().SerializeToString())
        >>> session.run(["city_encoded"], {"city": np.array([["Oslo"], ["Rome"], ["Lima"], [""]])})[0].round(2)
        array([[0.5 ],
               [0.67],
               [0.5 ],
               [0.67]])
        """
        from catbayes.export.onnx import write_onnx

        return write_onnx(self._lookups())

    def _lookups(self) -> list[Lookup]:
        """Say how each encoded column is looked up: what the writer of any format reads."""
        from catbayes.encoder._plan import Plan

        check_is_fitted(self)
        plan = Plan.of(self, None)
        plan.check(self.feature_names_in_.tolist())
        return [self._lookup(column, plan.names(column)) for column in plan.columns]

    def _lookup(self, column: EncodedColumn, outputs: list[str]) -> Lookup:
        """A level for the categories, and one for those above them in a hierarchy.

        A missing value is a key like any other, unless it is refused or goes by the prior. A new combination of known
        categories is nothing to refuse, nor is a new child of a known parent, so both always have an answer.
        """
        known, expectation = column.posterior.categories, column.expectation
        names = [self.feature_names_in_[part] for part in column.parts]
        values = [(*categories.values, None) for _, categories in column.sources]
        levels, otherwise = [], expectation[known.unseen]
        for cells, slots in column.levels():
            if self.missing != "category":
                full = ~np.isin(slots, known.lacking)
                cells, slots = cells[full], slots[full]
            parts = cells.T.tolist()
            keys = list(zip(*(map(of.__getitem__, part) for of, part in zip(values, parts, strict=False)), strict=True))
            if len(names) == 1 and self.missing != "error":
                keys.append((None,))
                slots = np.append(slots, known.missing if self.missing == "category" else known.unseen)
            levels.append(Level(tuple(names[: len(parts)]), keys, expectation[slots]))
        if self.unseen == "error" and len(names) == 1:
            otherwise = np.full_like(otherwise, np.nan)
        required = tuple(names) if self.missing == "error" else ()
        return Lookup(f"{column.label}_encoded", tuple(outputs), tuple(levels), otherwise, required)
