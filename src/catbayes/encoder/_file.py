"""One file for a fitted encoder: a Parquet table of categories and statistics, with a JSON header.

Any tool that reads Parquet reads the table. Loading parses numbers and text and never runs code. The header has a
version; damaged, foreign and newer files are refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from catbayes._atomic import replacing
from catbayes.categories import Categories
from catbayes.combinations import Combinations
from catbayes.encoder._base import PosteriorEncoder
from catbayes.encoder._settings import (
    read_family_object,
    read_settings,
    write_family,
    write_name,
    write_settings,
)
from catbayes.encoder._values import read_value, write_values
from catbayes.errors import InputError
from catbayes.evidence import Candidate, ColumnEvidence, Evidence, label_array
from catbayes.families import FAMILIES, family_name
from catbayes.hierarchy import Chain
from catbayes.posteriors import ColumnPosterior, posterior_of
from catbayes.statistics import Moments, Statistics, Tally

FORMAT, VERSION = "catbayes encoder", 2
HEADER, DIGEST = b"catbayes", b"catbayes.sha256"


def save_encoder(encoder: PosteriorEncoder, path: Any) -> None:
    """Write a fitted encoder to a path, or to an open binary file."""
    save_table(lambda: encoder_table(encoder), path)


def save_table(make: Callable[[], Any], path: Any) -> None:
    """Make a table with a header, and write it to a path, or to an open binary file."""
    parquet = _parquet()
    try:
        table = make()
    except UnicodeEncodeError as error:
        raise InputError(f"A category cannot be saved, because it is no proper text: {error}.") from error
    options = {"compression": "zstd", "write_page_checksum": True}
    if not isinstance(path, str | os.PathLike):
        parquet.write_table(table, path, **options)
        return
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, **options)


def load_encoder(path: Any, kinds: dict[str, Callable[[Any, Any], Any]]) -> Any:
    """Read an encoder from a path, or from an open binary file; `kinds` make one of a header and a table."""
    parquet = _parquet()
    if isinstance(path, str | os.PathLike) and not os.path.isfile(path):
        raise InputError(f"There is no file {os.fspath(path)!r}.")
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else "The file"
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            metadata = file.schema_arrow.metadata or {}
            header = _read_header(metadata, name)
            table = file.read()
    except InputError:
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{name} is damaged, cut short, or no catbayes encoder: {first}") from error
    kind = kinds.get(str(header.get("encoder")))
    if kind is None:
        raise InputError(f"{name} holds a {header.get('encoder')!r}: expected one of {', '.join(kinds)}.")
    try:
        return kind(header, table)
    except Exception as error:
        raise InputError(f"{name} is damaged: its table does not fit its header ({error}).") from error


def _read_header(metadata: dict[bytes, bytes], name: str) -> Any:
    if HEADER not in metadata:
        raise InputError(f"{name} is a Parquet file, but no catbayes encoder. Write one by encoder.save(path).")
    if sha256(metadata[HEADER]).hexdigest().encode() != metadata.get(DIGEST):
        raise InputError(f"{name} is damaged: its header does not match its checksum.")
    header = json.loads(metadata[HEADER])
    if header.get("format") != FORMAT:
        raise InputError(f"{name} is no catbayes encoder, but {header.get('format')!r}.")
    if header.get("version") != VERSION:
        raise InputError(
            f"{name} was written in version {header.get('version')} of the format, by catbayes "
            f"{header.get('catbayes')}; this one reads version {VERSION}. Use that catbayes, or fit again."
        )
    return header


# ------------------------------------------------------------------------------ writing


def encoder_table(encoder: PosteriorEncoder) -> Any:
    """A row for each category, and all else in the header."""
    import pyarrow

    evidence: Evidence = encoder.evidence_
    parts = [_column_table(column) for column in evidence.columns]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "encoder": type(encoder).__name__,
        "settings": write_settings(encoder),
        "seed": encoder._seed,
        "family": family_name(evidence.family),
        "classes": None if evidence.classes is None else write_values(evidence.classes.tolist(), "class"),
        "class_type": None if evidence.classes is None else evidence.classes.dtype.str,
        "inputs": [write_name(name) for name in evidence.inputs],
        "squares": evidence.squares,
        "weighted": evidence.weighted,
        "candidates": [
            [list(map(write_name, found.columns)), found.categories, found.gain, found.kept]
            for found in evidence.candidates
        ],
        "columns": [
            {
                "parts": column.parts,
                "position": column.position,
                "rows": len(part),
                **_write_prior(column.posterior),
            }
            for column, part in zip(encoder.columns_fitted_, parts, strict=True)
        ],
    }
    return with_header(pyarrow.concat_tables(parts), header)


def with_header(table: Any, header: dict[str, Any]) -> Any:
    """The table with a header and its checksum."""
    text = json.dumps(header, allow_nan=False).encode()
    return table.replace_schema_metadata({HEADER: text, DIGEST: sha256(text).hexdigest().encode()})


def _write_prior(posterior: ColumnPosterior) -> dict[str, Any]:
    """What made the posteriors of the statistics: a prior, or what links the levels of a hierarchy."""
    if posterior.chain is not None:
        return {"root": write_family(posterior.chain.root), "strengths": list(posterior.chain.strengths)}
    return {"prior": write_family(posterior.prior), "unseen": write_family(posterior.unseen)}


def _column_table(column: ColumnEvidence) -> Any:
    import pyarrow

    n_slots, what = column.categories.n_slots - 1, f"category of column {column.name!r}"
    if isinstance(column.categories, Combinations):
        texts = _write_tuples(column.categories, what)
    else:
        texts = write_values(column.categories.values, what)
    statistics = column.statistics
    numbers: dict[str, Any]
    if isinstance(statistics, Tally):
        weight = statistics.weight[:n_slots]
        width = weight.shape[1]
        counts = pyarrow.ListArray.from_arrays(np.arange(n_slots + 1, dtype=np.int32) * width, weight.reshape(-1))
        numbers = {"counts": counts}
    else:
        numbers = {name: getattr(statistics, name)[:n_slots] for name in ("count", "mean", "m2")}
    return pyarrow.table(
        {
            "column": pyarrow.array([str(column.name)] * n_slots, pyarrow.string()),
            "kind": pyarrow.array(["seen"] * len(texts) + ["missing"], pyarrow.string()),
            "type": pyarrow.array([*(kind for kind, _ in texts), None], pyarrow.string()),
            "category": pyarrow.array([*(text for _, text in texts), None], pyarrow.string()),
            **numbers,
        }
    )


def _write_tuples(combinations: Combinations, what: str) -> list[tuple[str, str]]:
    """Types and texts of the parts of each combination, as two lists in JSON; a missing part is null."""
    names = [(*write_values(parent.values, what), (None, None)) for parent in combinations.parents]
    pairs = (zip(*cell, strict=True) for cell in combinations.tuples(names))
    return [(json.dumps(kinds), json.dumps(texts, ensure_ascii=False)) for kinds, texts in pairs]


# ------------------------------------------------------------------------------ reading


def build_encoder(kind: type[PosteriorEncoder], header: Any, table: Any) -> PosteriorEncoder:
    """Make a fitted encoder of what was read."""
    encoder = kind(**read_settings(header["settings"]))
    encoder._check()
    classes = None
    if header["classes"] is not None:
        classes = label_array([read_value(pair) for pair in header["classes"]], np.dtype(header["class_type"]))
    if sum(column["rows"] for column in header["columns"]) != len(table):
        raise ValueError("rows are missing")
    columns: list[ColumnEvidence] = []
    start, known, inputs = 0, dict[int, Categories](), header["inputs"]
    for record in header["columns"]:
        part = table.slice(start, record["rows"])
        start += record["rows"]
        columns.append(_read_column(record, part, inputs, known, None if classes is None else len(classes)))
    evidence = Evidence(
        tuple(columns),
        FAMILIES[header["family"]],
        classes,
        tuple(header["inputs"]),
        float(header["squares"]),
        bool(header["weighted"]),
        tuple(Candidate(tuple(names), size, gain, kept) for names, size, gain, kept in header["candidates"]),
    )
    seed, fitted = int(header["seed"]), []
    for column, record in zip(columns, header["columns"], strict=True):
        statistics, tree = encoder._settle_missing(column), encoder._tree(column, evidence)
        if tree is not None:
            chain = Chain(read_family_object(record["root"]), tuple(map(float, record["strengths"])))
            posterior = ColumnPosterior.of_tree(tree, tree.placed(column.categories, statistics), chain)
        else:
            prior, unseen = read_family_object(record["prior"]), read_family_object(record["unseen"])
            updated = posterior_of(statistics, prior, unseen)
            posterior = ColumnPosterior(column.categories, statistics, prior, unseen, updated)
        fitted.append(encoder._map_column(column, posterior, evidence, seed))
    return encoder._become(evidence, fitted, seed)


def _read_column(
    record: Any, part: Any, inputs: list[Any], known: dict[int, Categories], n_classes: int | None
) -> ColumnEvidence:
    """One column, or an interaction of `known` ones; what it brings to those is added."""
    parts, position = tuple(record["parts"]), int(record["position"])
    at_home = parts[-1] == position if position < len(inputs) else len(parts) > 1
    if not at_home or not all(0 <= place < len(inputs) for place in parts):
        raise ValueError(f"column {position} is not in its place")
    kinds, texts = part["type"].to_pylist()[:-1], part["category"].to_pylist()[:-1]
    if part["kind"].to_pylist() != ["seen"] * len(kinds) + ["missing"]:
        raise ValueError(f"the categories of column {position} are not in their places")
    categories: Categories | Combinations
    name: Any
    if len(parts) == 1:
        name = inputs[parts[0]]
        values = texts if set(kinds) <= {"str"} else [read_value(pair) for pair in zip(kinds, texts, strict=True)]
        categories = known[parts[0]] = Categories(tuple(values))
        distinct = len(set(values))
    else:
        name = inputs[position] if position in parts else tuple(inputs[place] for place in parts)
        categories = _read_combinations(parts, kinds, texts, known)
        distinct = len(np.unique(categories.cells, axis=0))
    if distinct < len(kinds):
        raise ValueError(f"the categories of {name!r} are not distinct")
    statistics: Statistics
    if n_classes is None:
        numbers = [np.append(part[name].to_numpy(), 0.0) for name in ("count", "mean", "m2")]
        statistics, amounts = Moments(*numbers), np.stack([numbers[0], numbers[1] ** 2, numbers[2]])
    else:
        flat = part["counts"].combine_chunks().flatten().to_numpy()
        statistics = Tally(np.append(flat.reshape(-1, n_classes), np.zeros((1, n_classes)), axis=0))
        amounts = statistics.weight
    if not np.isfinite(amounts).all() or (amounts < 0).any() or len(statistics.count) != categories.n_slots:
        raise ValueError(f"the statistics of {name!r} are impossible")
    return ColumnEvidence(position, name, parts, categories, statistics)


def _read_combinations(
    parts: tuple[int, ...], kinds: list[str], texts: list[str], known: dict[int, Categories]
) -> Combinations:
    """Combinations from the types and texts of their parts; categories of columns that are not `known` are found."""
    cells = [
        list(zip(json.loads(kind), json.loads(text), strict=True)) for kind, text in zip(kinds, texts, strict=True)
    ]
    columns = [[read_value(cell[number]) for cell in cells] for number in range(len(parts))]
    for part, values in zip(parts, columns, strict=True):
        if part not in known:
            known[part], _ = Categories.of_distinct(list(dict.fromkeys(values)))
    parents = [known[part] for part in parts]
    codes = [parent.slots(values) for parent, values in zip(parents, columns, strict=True)]
    return Combinations(tuple(parents), np.stack(codes, axis=1).astype(np.intp))


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Saved encoders are Parquet files: pip install "catbayes[arrow]".') from error
    return pyarrow.parquet
