"""Save a fitted encoder to one file, and load it: a Parquet table of categories and statistics, with a JSON header.

Any tool that reads Parquet reads the table. Loading parses numbers and text and never runs code. Checksums cover the
header and the pages of the table, and what is read must have the shape and the range of what can be learnt.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from catbayes.core.categories import Categories
from catbayes.core.column import FittedColumn, StoredPrior
from catbayes.core.combinations import Index
from catbayes.core.config import Settings
from catbayes.core.evidence import Candidate, ColumnEvidence, Evidence, settle_family
from catbayes.core.fitted import Fitted
from catbayes.core.statistics import Moments, Statistics, Tally
from catbayes.core.target import label_array
from catbayes.core.text import Text
from catbayes.effects.settings import EffectTable
from catbayes.effects.slopes import Slope
from catbayes.errors import InputError
from catbayes.families import FAMILIES, family_name
from catbayes.io.atomic import read_content, write_content
from catbayes.io.values import read_json, read_settings, read_text, write_json, write_settings, write_texts
from catbayes.kinds import KINDS

FORMAT, VERSION = "catbayes encoder", 8
HEADER, DIGEST = b"catbayes", b"catbayes.sha256"
ABOUT = ("inputs", "squares", "weighted", "exposure", "candidates", "informative", "target")
"""What the header has of the evidence as it is."""
EFFECTS = {"effect": "mean", "effect_sd": "sd", "effect_known": "known"}
"""Columns of the table that hold effects given everything else, and what they are."""

MOST_ROWS, MOST_BYTES, FREE_BYTES = 20, 8000, 1 << 24
"""Rows and unpacked bytes that there may be for a byte of the file, and bytes that are always allowed.

Files of ours have about one row a byte (a million categories of ten letters), and up to 600 bytes a byte (rare
categories of thousands of classes, nearly all of whose counts are zero).
"""


def save_encoder(parameters: dict[str, Any], encoding: Fitted, path: Any) -> None:
    """Write a fitted encoder to a path, or to an open binary file."""
    parquet, file = _parquet(), io.BytesIO()
    try:
        table = _write_table(parameters, encoding)
    except UnicodeEncodeError as error:
        raise InputError(f"A category cannot be saved, because it is no proper text: {error}.") from error
    parquet.write_table(table, file, compression="zstd", write_page_checksum=True)
    write_content(path, file.getvalue())


def load_encoder(path: Any, build: Callable[[dict[str, Any], Callable[[Settings], Fitted]], Any]) -> Any:
    """Read an encoder from a path, or from an open binary file.

    `build` makes it of its parameters, and of what turns settings into the fitted value.
    """
    parquet = _parquet()
    name, content = read_content(path)
    if content.startswith(b"PK"):
        raise InputError(f"{name} is a zip archive, as of a saved model, and no encoder. Read it by catbayes.load.")
    try:
        with parquet.ParquetFile(io.BytesIO(content), page_checksum_verification=True) as file:
            header = _read_header(file.schema_arrow.metadata or {}, name)
            _check_size(file.metadata, len(content))
            table = file.read()
    except InputError:
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{name} is damaged, cut short, or no catbayes encoder: {first}") from error
    try:
        evidence = _read_evidence(header, table)
        return build(read_settings(header["settings"]), lambda settings: _fit(settings, evidence, header))
    except Exception as error:
        raise InputError(f"{name} is damaged: its table does not fit its header ({error}).") from error


def _check_size(metadata: Any, size: int) -> None:
    """Require that the rows and the numbers of a Parquet file are in proportion to its bytes."""
    unpacked = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if metadata.num_rows > MOST_ROWS * size or unpacked > MOST_BYTES * size + FREE_BYTES:
        raise ValueError(f"{metadata.num_rows} rows of {unpacked} bytes do not fit in {size} bytes")


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


def _write_table(parameters: dict[str, Any], encoding: Fitted) -> Any:
    """A row for each category, and all else in the header."""
    import pyarrow

    evidence = encoding.evidence
    with_effects = any(column.effects is not None for column in evidence.columns)
    parts = [_column_table(column, with_effects) for column in evidence.columns]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "settings": write_settings(parameters),
        "seed": encoding.seed,
        "family": family_name(evidence.family),
        "classes": None if evidence.classes is None else write_texts(evidence.classes.tolist(), "class"),
        "class_type": None if evidence.classes is None else evidence.classes.dtype.str,
        **{name: write_json(getattr(evidence, name), name) for name in ABOUT},
        "columns": [
            {
                "parts": column.parts,
                "position": column.position,
                "rows": len(part),
                "made_of": _write_source(seen),
                "effects": None if seen.effects is None else _write_effects(seen.effects),
                **_write_prior(column),
            }
            for column, seen, part in zip(encoding.columns, evidence.columns, parts, strict=True)
        ],
    }
    text = json.dumps(header, allow_nan=False).encode()
    metadata = {HEADER: text, DIGEST: sha256(text).hexdigest().encode()}
    return pyarrow.concat_tables(parts).replace_schema_metadata(metadata)


def _write_prior(column: FittedColumn) -> dict[str, Any]:
    """What made posteriors of the statistics: a prior, or what links the slots."""
    if column.links is not None:
        return {"root": write_json(column.links.root, "root"), "strengths": list(column.links.strengths)}
    return {"prior": write_json(column.prior, "prior"), "unseen": write_json(column.slot_priors, "unseen")}


def _write_source(column: ColumnEvidence) -> dict[str, Any]:
    """What there is of the categories of one column but their names: cuts, or the order that its type declared."""
    source = column.index.sources[0]
    if source.declared is None or len(column.parts) > 1:
        record = source.to_dict()
        if "type" in record and record["type"] not in _own_categories():
            raise InputError(
                f"Column {column.name!r} has {record['type']} as categories, which no kind in KINDS names as its "
                "`categories`, so that they cannot be saved. Name them there."
            )
        return record
    return {"declared": write_texts(source.declared, f"level of column {column.name!r}")}


def _read_source(record: dict[str, Any], values: Sequence[Any]) -> Categories:
    if "type" in record:
        return _own_categories()[record["type"]].from_dict(record, values)
    return Categories(values, tuple(map(read_text, record["declared"])) if "declared" in record else None)


def _own_categories() -> dict[str, type[Categories]]:
    """Find the categories that kinds read in a way of their own, by their names in files."""
    return {kind.categories.__name__: kind.categories for kind in KINDS.values()}


def _column_table(column: ColumnEvidence, with_effects: bool) -> Any:
    import pyarrow

    n_slots, what = column.index.n_slots - 1, f"category of column {column.name!r}"
    sources = column.index.sources
    texts = write_texts(sources[0].values, what) if len(sources) == 1 else _write_tuples(column.index, what)
    statistics = column.statistics
    numbers: dict[str, Any]
    if isinstance(statistics, Tally):
        weight = statistics.weight[:n_slots]
        width = weight.shape[1]
        counts = pyarrow.ListArray.from_arrays(np.arange(n_slots + 1, dtype=np.int32) * width, weight.reshape(-1))
        numbers = {"counts": counts}
    else:
        numbers = {name: getattr(statistics, name)[:n_slots] for name in ("count", "mean", "m2")}
    for name, field in EFFECTS.items() if with_effects else ():
        values = [None] * n_slots if column.effects is None else getattr(column.effects, field)[:n_slots].tolist()
        numbers[name] = pyarrow.array(values, pyarrow.list_(pyarrow.float64()))
    return pyarrow.table(
        {
            "column": pyarrow.array([str(column.name)] * n_slots, pyarrow.string()),
            "kind": pyarrow.array(["seen"] * len(texts) + ["missing"], pyarrow.string()),
            "type": pyarrow.array([*(kind for kind, _ in texts), None], pyarrow.string()),
            "category": pyarrow.array([*(text for _, text in texts), None], pyarrow.string()),
            **numbers,
        }
    )


def _write_effects(effects: EffectTable) -> dict[str, Any]:
    """The effects of unseen categories, and the scale of effects."""
    of_unseen = {name: getattr(effects, field)[-1].tolist() for name, field in EFFECTS.items()}
    return {"unseen": of_unseen, "scale": effects.scale.tolist(), "slopes": list(map(list, effects.slopes))}


def _write_tuples(index: Index, what: str) -> list[tuple[str, str]]:
    """Types and texts of the parts of each combination, as two lists in JSON; a missing part is null."""
    names = [(*write_texts(source.values, what), (None, None)) for source in index.sources]
    pairs = (zip(*cell, strict=True) for cell in index.tuples(names))
    return [(json.dumps(kinds), json.dumps(texts, ensure_ascii=False)) for kinds, texts in pairs]


# ------------------------------------------------------------------------------ reading


def _fit(settings: Settings, evidence: Evidence, header: Any) -> Fitted:
    """Make the posteriors of what was read, with the priors in the header."""
    wanted = settle_family(settings.family, evidence).scaled(evidence.total, 0.0)
    stored: list[StoredPrior] = []
    for record in header["columns"]:
        if "root" in record:
            strengths = tuple(_amount("strengths", strength) for strength in record["strengths"])
            stored.append((_read_prior(record["root"], wanted), strengths))
        else:
            stored.append((_read_prior(record["prior"], wanted), _read_prior(record["unseen"], wanted)))
    return Fitted.fit(settings, evidence, int(header["seed"]), stored=stored)


def _read_prior(record: Any, wanted: Any) -> Any:
    """A prior that fits the target, as one that is `wanted` does."""
    prior = read_json(record)
    shapes = [{name: values.shape for name, values in one.arrays().items()} for one in (prior, wanted)]
    if type(prior) is not type(wanted) or shapes[0] != shapes[1]:
        raise ValueError(f"a {type(prior).__name__} of shape {shapes[0]} is no prior of its target")
    return prior


def _amount(name: str, value: Any) -> float:
    """A number ≥ 0."""
    if not 0.0 <= float(value) < float("inf"):
        raise ValueError(f"{name} cannot be {value}")
    return float(value)


def _read_evidence(header: Any, table: Any) -> Evidence:
    """What was gathered, from the header and the rows of the columns, one after the other."""
    about = {name: read_json(header[name]) for name in ABOUT}
    about["candidates"] = tuple(Candidate(*found) for found in about["candidates"])
    for name in ("squares", "exposure"):
        _amount(name, about[name])
    classes = None
    if header["classes"] is not None:
        classes = label_array(list(map(read_text, header["classes"])), np.dtype(header["class_type"]))
    if sum(column["rows"] for column in header["columns"]) != len(table):
        raise ValueError("rows are missing")
    columns: list[ColumnEvidence] = []
    start, known = 0, dict[int, Categories]()
    for record in header["columns"]:
        part = table.slice(start, record["rows"])
        start += record["rows"]
        columns.append(_read_column(record, part, about["inputs"], known, classes))
    return Evidence(tuple(columns), FAMILIES[header["family"]], classes, **about)


def _read_column(
    record: Any, part: Any, inputs: Sequence[Any], known: dict[int, Categories], classes: Any
) -> ColumnEvidence:
    """One column, or an interaction of `known` ones; what it brings to those is added."""
    parts, position = tuple(map(int, record["parts"])), int(record["position"])
    at_home = parts[-1] == position if position < len(inputs) else len(parts) > 1
    if not at_home or not all(0 <= place < len(inputs) for place in parts):
        raise ValueError(f"column {position} is not in its place")
    seen = part.slice(0, len(part) - 1)
    if part["kind"].to_pylist() != ["seen"] * len(seen) + ["missing"]:
        raise ValueError(f"the categories of column {position} are not in their places")
    name: Any = inputs[position] if position in parts else tuple(inputs[place] for place in parts)
    if len(parts) == 1:
        values, distinct = _read_values(seen["type"], seen["category"])
        known[parts[0]] = _read_source(record["made_of"], values)
        index = Index.of_column(known[parts[0]])
    else:
        index = _read_combinations(parts, seen["type"].to_pylist(), seen["category"].to_pylist(), known)
        distinct = len(np.unique(index.cells, axis=0))
    if distinct < len(seen):
        raise ValueError(f"the categories of {name!r} are not distinct")
    statistics: Statistics
    if classes is None:
        numbers = [np.append(part[name].to_numpy(), 0.0) for name in ("count", "mean", "m2")]
        statistics, amounts = Moments(*numbers), np.stack([numbers[0], numbers[1] ** 2, numbers[2]])
    else:
        flat = part["counts"].combine_chunks().flatten().to_numpy()
        statistics = Tally(np.append(flat.reshape(-1, len(classes)), np.zeros((1, len(classes))), axis=0))
        amounts = statistics.weight
    if not np.isfinite(amounts).all() or (amounts < 0).any() or len(statistics.count) != index.n_slots:
        raise ValueError(f"the statistics of {name!r} are impossible")
    return ColumnEvidence(position, name, parts, index, statistics, _read_effects(record["effects"], part))


def _read_values(types: Any, texts: Any) -> tuple[Sequence[Any], int]:
    """Categories of one column from their types and texts, and how many of them differ."""
    if types.unique().to_pylist() != ["str"]:
        values = tuple(map(read_text, zip(types.to_pylist(), texts.to_pylist(), strict=True)))
        return values, len(set(values))
    words = texts.cast("large_string").combine_chunks()
    return Text(words), len(words.unique())


def _read_effects(record: Any, part: Any) -> EffectTable | None:
    """Effects of the slots of a column, and of the one that stands for unseen categories."""
    if record is None:
        return None
    mean, sd, known = (
        np.array([*part[name].to_pylist(), record["unseen"][name]], dtype=np.float64) for name in EFFECTS
    )
    slopes = tuple(Slope(int(place), float(centre), float(unit)) for place, centre, unit in record["slopes"])
    found = EffectTable(mean, sd, known, np.array(record["scale"], dtype=np.float64), slopes)
    amounts = np.stack([found.sd, found.known, found.scale + 0.0 * found.mean])
    possible = np.isfinite(found.mean).all() and (amounts >= 0.0).all() and (found.known <= 1.0).all()
    if found.mean.ndim != 2 or not possible:
        raise ValueError("effects are impossible")
    return found


def _read_combinations(
    parts: tuple[int, ...], kinds: list[str], texts: list[str], known: dict[int, Categories]
) -> Index:
    """Combinations from the types and texts of their parts; categories that the columns themselves lack are found.

    They may lack some: those of columns that are not encoded themselves, and those whose rows were taken out, while a
    combination of weight 0 stayed.
    """
    pairs = zip(map(json.loads, kinds), map(json.loads, texts), strict=True)
    cells = [list(zip(*pair, strict=True)) for pair in pairs]
    found = [{cell[number]: read_text(cell[number]) for cell in cells} for number in range(len(parts))]
    columns = [[distinct[cell[number]] for cell in cells] for number, distinct in enumerate(found)]
    sources = []
    for part, values in zip(parts, columns, strict=True):
        own, _ = Categories.of_distinct(list(dict.fromkeys(values)))
        if part not in known:
            known[part] = own
        sources.append(known[part] if {*own.values} <= {*known[part].values} else known[part].union(own)[0])
    codes = [source.slots(values) for source, values in zip(sources, columns, strict=True)]
    return Index(tuple(sources), np.stack(codes, axis=1).astype(np.intp))


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Saved encoders are Parquet files: pip install "catbayes[arrow]".') from error
    return pyarrow.parquet
