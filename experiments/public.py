"""Public data sets by name, from a folder or from OpenML.

Rows from either pass through the same reader, so that both give the same table.
"""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from catbayes.datasets import Dataset
from catbayes.errors import InputError
from experiments.recipes import RECIPES, Recipe

NAMES = tuple(sorted(RECIPES))
"""The public tables that `load` knows."""


def load(name: str, part: str = "train") -> Dataset:
    """Read a public data set, and check its rows and columns.

    Set the environment variable CATBAYES_DATA to a folder of the published files, such as `car/car.data`, to read them
    from there; otherwise they are fetched from OpenML, and scikit-learn stores them. Question marks and empty cells are
    missing values. `part` is "train", "test" or "all": "adult" was published in two parts, the others have "train".
    The target is 0 or 1, the label of one of several classes, or a number.
    """
    recipe = RECIPES[name]
    parts = tuple(recipe.files) if part == "all" else (part,)
    folder = os.environ.get("CATBAYES_DATA")
    tables = {key: _read_file(recipe, Path(folder), key) for key in parts} if folder else _fetch(recipe)
    table = pandas.concat([tables[key] for key in parts], ignore_index=True)
    return Dataset(
        name=name,
        table=table[recipe.columns.split()],
        y=_make_target(recipe, table[recipe.target]),
        target=recipe.target,
        task=recipe.task,
        categorical=tuple((recipe.categorical or recipe.columns).split()),
        source=recipe.source,
    )


def _read_file(recipe: Recipe, folder: Path, part: str) -> Any:
    file, n_rows = recipe.files[part]
    if not (folder / file).is_file():
        raise InputError(
            f"CATBAYES_DATA={str(folder)!r}: expected a folder that holds {file}. Put the file there, or unset "
            f"CATBAYES_DATA to fetch OpenML data set {recipe.openml}."
        )
    names = None if recipe.header else [*recipe.columns.split(), recipe.target]
    return _check(recipe, _read(folder / file, names), n_rows, str(folder / file))


def _fetch(recipe: Recipe) -> dict[str, Any]:
    """Fetch all parts of a data set from OpenML."""
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(data_id=recipe.openml, as_frame=True).frame
    except (OSError, ValueError) as error:
        files = " and ".join(f"<folder>/{file}" for file, _ in recipe.files.values())
        raise InputError(
            f"OpenML data set {recipe.openml} cannot be fetched ({error}). Set CATBAYES_DATA to a folder with {files}, "
            "or connect to the internet."
        ) from error
    lengths = [recipe.files[part][1] for part in recipe.openml_order]
    text = recipe.adapt(frame).rename(columns=recipe.openml_names).to_csv(index=False)
    table = _check(recipe, _read(StringIO(text)), sum(lengths), f"OpenML data set {recipe.openml}")
    ends = np.cumsum(lengths).tolist()
    return {
        part: table.iloc[end - length : end]
        for part, end, length in zip(recipe.openml_order, ends, lengths, strict=True)
    }


def _read(source: Any, names: list[str] | None = None) -> Any:
    """Read a table of comma-separated values, its text without blanks around it; lines with | first are comments."""
    table = pandas.read_csv(
        source, names=names, skipinitialspace=True, comment="|", keep_default_na=False, na_values=["", "?"]
    )
    text = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].str.strip() for name in text})


def _check(recipe: Recipe, table: Any, n_rows: int, source: str) -> Any:
    needed = [*recipe.columns.split(), recipe.target]
    missing = [name for name in needed if name not in table]
    unknown = [name for name in table if name not in {*needed, *recipe.dropped.split()}]
    if missing or unknown or len(table) != n_rows:
        raise InputError(
            f"{source} has {len(table):,} rows, lacks the columns {missing} and has unknown columns {unknown}. "
            f"Expected {n_rows:,} rows: get the table as it was published."
        )
    return table


def _make_target(recipe: Recipe, labels: Any) -> np.ndarray[Any, Any]:
    if recipe.task in ("regression", "count"):
        return np.asarray(labels, dtype=np.float64 if recipe.task == "regression" else np.int64)
    text = np.asarray(labels.astype(str).str.rstrip("."), dtype=str)  # the labels of Adult's test file end in a dot
    return text if recipe.task == "multiclass" else (text == recipe.positive).astype(np.int64)
