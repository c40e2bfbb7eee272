"""One file for a fitted encoder: a Parquet table of categories and statistics, with a JSON header.

Any tool that reads Parquet reads the table. Loading parses numbers and text and never runs code. The header has a
version; damaged, foreign and newer files are refused.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from catbayes._atomic import replacing
from catbayes.categories import Categories
from catbayes.encoder._base import PosteriorEncoder
from catbayes.errors import InputError
from catbayes.evidence import ColumnEvidence, Evidence, label_array
from catbayes.families import FAMILIES, Family
from catbayes.mappings import MAPPINGS, Mapping, PredictiveQuantiles
from catbayes.posteriors import ColumnPosterior, posterior_of
from catbayes.priors import Empirical, Scaled
from catbayes.statistics import Moments, Statistics, Tally

FORMAT, VERSION = "catbayes encoder", 1
HEADER, DIGEST = b"catbayes", b"catbayes.sha256"

_TYPES: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bool": (bool, str, {"True": True, "False": False}.__getitem__),
    "int": (int, str, int),
    "float": (float, repr, float),
    "str": (str, str, str),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "timedelta": (
        datetime.timedelta,
        lambda span: str(span // datetime.timedelta(microseconds=1)),
        lambda text: datetime.timedelta(microseconds=int(text)),
    ),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
}


def save_encoder(encoder: PosteriorEncoder, path: Any) -> None:
    """Write a fitted encoder to a path, or to an open binary file."""
    parquet = _parquet()
    try:
        table = _table(encoder)
    except UnicodeEncodeError as error:
        raise InputError(f"A category cannot be saved, because it is no proper text: {error}.") from error
    options = {"compression": "zstd", "write_page_checksum": True}
    if not isinstance(path, str | os.PathLike):
        parquet.write_table(table, path, **options)
        return
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, **options)


def load_encoder(path: Any, kinds: dict[str, type[PosteriorEncoder]]) -> PosteriorEncoder:
    """Read an encoder from a path, or from an open binary file."""
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
        return _build(kind, header, table)
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
    if header.get("version", 0) > VERSION:
        raise InputError(
            f"{name} was written in version {header['version']} of the format, by catbayes {header.get('catbayes')}; "
            f"this one reads up to {VERSION}. Upgrade catbayes."
        )
    return header


# ------------------------------------------------------------------------------ writing


def _table(encoder: PosteriorEncoder) -> Any:
    import pyarrow

    evidence: Evidence = encoder.evidence_
    parts = [_column_table(column) for column in evidence.columns]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "encoder": type(encoder).__name__,
        "settings": {name: _write_setting(name, value) for name, value in encoder.get_params(deep=False).items()},
        "seed": encoder._seed,
        "family": _family_name(evidence.family),
        "classes": None if evidence.classes is None else _write_values(evidence.classes.tolist(), "class"),
        "class_type": None if evidence.classes is None else evidence.classes.dtype.str,
        "inputs": [_write_name(name) for name in evidence.inputs],
        "squares": evidence.squares,
        "weighted": evidence.weighted,
        "columns": [
            {
                "name": _write_name(column.name),
                "position": column.position,
                "rows": len(part),
                "prior": _write_family(column.posterior.prior),
                "unseen": _write_family(column.posterior.unseen),
            }
            for column, part in zip(encoder.columns_fitted_, parts, strict=True)
        ],
    }
    text = json.dumps(header, allow_nan=False).encode()
    metadata = {HEADER: text, DIGEST: sha256(text).hexdigest().encode()}
    return pyarrow.concat_tables(parts).replace_schema_metadata(metadata)


def _column_table(column: ColumnEvidence) -> Any:
    import pyarrow

    values, n_slots = column.categories.values, column.categories.n_slots - 1
    texts = _write_values(values, f"category of column {column.name!r}")
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
            "kind": pyarrow.array(["seen"] * len(values) + ["missing"], pyarrow.string()),
            "type": pyarrow.array([*(kind for kind, _ in texts), None], pyarrow.string()),
            "category": pyarrow.array([*(text for _, text in texts), None], pyarrow.string()),
            **numbers,
        }
    )


def _write_values(values: Any, what: str) -> list[tuple[str, str]]:
    if set(map(type, values)) <= {str}:
        return [("str", value) for value in values]
    return [_write_value(value, what) for value in values]


def _write_value(value: Any, what: str) -> tuple[str, str]:
    for name, (kind, write, _) in _TYPES.items():
        if type(value) is kind:
            return name, write(value)
    raise InputError(
        f"A {what} is a {type(value).__name__}, {value!r}, which cannot be saved. Turn such values into text."
    )


def _read_value(pair: Any) -> Any:
    kind, text = pair
    return _TYPES[kind][2](text)


def _write_name(name: Any) -> str | int:
    if isinstance(name, str):
        return name
    if isinstance(name, int | np.integer):
        return int(name)
    raise InputError(f"Column {name!r} cannot be saved: its name must be text. Rename it.")


def _family_name(family: type[Family]) -> str:
    for name, known in FAMILIES.items():
        if family is known:
            return name
    raise InputError(f"family={family.__name__} cannot be saved: only those of catbayes can.")


def _write_family(prior: Family) -> dict[str, Any]:
    return {"family": _family_name(type(prior)), **{name: values.tolist() for name, values in prior.arrays().items()}}


def _read_family_object(record: dict[str, Any]) -> Family:
    values = {name: value for name, value in record.items() if name != "family"}
    return FAMILIES[record["family"]](**values)


def _write_setting(name: str, value: Any) -> Any:
    """A parameter as JSON: plain values as they are, our own objects by name and fields."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if name == "columns" and isinstance(value, list | tuple | np.ndarray):
        return [_write_name(column) for column in value]
    if name == "family" and isinstance(value, type):
        return _family_name(value)
    if isinstance(value, Empirical | Scaled) and is_dataclass(value):
        record = {field.name: _write_setting(field.name, getattr(value, field.name)) for field in fields(value)}
        return {"prior": type(value).__name__, **record}
    if isinstance(value, Family):
        return _write_family(value)
    if isinstance(value, Mapping):
        if isinstance(value, PredictiveQuantiles):
            return {"mapping": type(value).__name__, "probabilities": [float(p) for p in value.probabilities]}
        for known, mapping in MAPPINGS.items():
            if type(mapping) is type(value):
                return known
    raise InputError(
        f"{name}={value!r} cannot be saved, because a file holds no code. Replace it by a plain value first: "
        f"encoder.set_params({name}=…)."
    )


# ------------------------------------------------------------------------------ reading


def _read_setting(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "prior" in value:
        kinds: dict[str, Any] = {"Empirical": Empirical, "Scaled": Scaled}
        return kinds[value["prior"]](**{name: entry for name, entry in value.items() if name != "prior"})
    if "mapping" in value:
        return {"PredictiveQuantiles": PredictiveQuantiles}[value["mapping"]](tuple(value["probabilities"]))
    return _read_family_object(value)


def _build(kind: type[PosteriorEncoder], header: Any, table: Any) -> PosteriorEncoder:
    encoder = kind(**{name: _read_setting(value) for name, value in header["settings"].items()})
    encoder._check()
    classes = None
    if header["classes"] is not None:
        classes = label_array([_read_value(pair) for pair in header["classes"]], np.dtype(header["class_type"]))
    if sum(column["rows"] for column in header["columns"]) != len(table):
        raise ValueError("rows are missing")
    columns, start = [], 0
    for record in header["columns"]:
        part = table.slice(start, record["rows"])
        start += record["rows"]
        columns.append(_read_column(record, part, None if classes is None else len(classes)))
        if header["inputs"][record["position"]] != record["name"] or record["position"] < 0:
            raise ValueError(f"column {record['name']!r} is not in its place")
    evidence = Evidence(
        tuple(columns),
        FAMILIES[header["family"]],
        classes,
        tuple(header["inputs"]),
        float(header["squares"]),
        bool(header["weighted"]),
    )
    seed, fitted = int(header["seed"]), []
    for column, record in zip(columns, header["columns"], strict=True):
        prior, unseen = _read_family_object(record["prior"]), _read_family_object(record["unseen"])
        statistics = encoder._settle_missing(column)
        updated = posterior_of(statistics, prior, unseen)
        posterior = ColumnPosterior(column.categories, statistics, prior, unseen, updated)
        fitted.append(encoder._map_column(column, posterior, evidence, seed))
    return encoder._become(evidence, fitted, seed)


def _read_column(record: Any, part: Any, n_classes: int | None) -> ColumnEvidence:
    kinds, texts = part["type"].to_pylist()[:-1], part["category"].to_pylist()[:-1]
    values = texts if set(kinds) <= {"str"} else [_read_value(pair) for pair in zip(kinds, texts, strict=True)]
    categories = Categories(tuple(values))
    if part["kind"].to_pylist() != ["seen"] * len(values) + ["missing"] or len(set(values)) < len(values):
        raise ValueError(f"the categories of {record['name']!r} are not distinct")
    statistics: Statistics
    if n_classes is None:
        numbers = [np.append(part[name].to_numpy(), 0.0) for name in ("count", "mean", "m2")]
        statistics, amounts = Moments(*numbers), np.stack([numbers[0], numbers[1] ** 2, numbers[2]])
    else:
        flat = part["counts"].combine_chunks().flatten().to_numpy()
        statistics = Tally(np.append(flat.reshape(-1, n_classes), np.zeros((1, n_classes)), axis=0))
        amounts = statistics.weight
    if not np.isfinite(amounts).all() or (amounts < 0).any() or len(statistics.count) != categories.n_slots:
        raise ValueError(f"the statistics of {record['name']!r} are impossible")
    return ColumnEvidence(int(record["position"]), record["name"], categories, statistics)


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Saved encoders are Parquet files: pip install "catbayes[arrow]".') from error
    return pyarrow.parquet
