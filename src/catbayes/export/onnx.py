"""Lookups as an ONNX graph: a LabelEncoder from values to slots, and a Gather from a table of doubles."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catbayes.errors import InputError
from catbayes.export.lookups import Kind, Level, Lookup, input_kinds

try:
    from onnx import ModelProto, TensorProto, helper, numpy_helper
except ImportError as error:
    raise ImportError('ONNX models are made by onnx: pip install "catbayes[onnx]".') from error

OPSETS = {"": 19, "ai.onnx.ml": 4}  # the first to compare text, and the first to encode doubles
IR_VERSION = 9  # of the same release
TYPES = {
    Kind.TEXT: (TensorProto.STRING, np.object_),
    Kind.INTEGER: (TensorProto.INT64, np.int64),
    Kind.NUMBER: (TensorProto.DOUBLE, np.float64),
    Kind.BOOLEAN: (TensorProto.BOOL, np.int64),  # no LabelEncoder takes booleans
}
MISSING = {Kind.TEXT: "", Kind.NUMBER: np.nan}  # the other types have no missing values


def write_onnx(lookups: Sequence[Lookup], ml: int = OPSETS["ai.onnx.ml"]) -> ModelProto:
    """Make a model with an input for each column and an output for each lookup.

    skl2onnx knows versions of `ai.onnx.ml` before 4, which compare numbers in single precision.
    """
    graph = Graph(ml)
    for column, kind in input_kinds(lookups).items():
        graph.read(column, kind)
    for lookup in lookups:
        graph.write(lookup)
    return graph.model()


@dataclass
class Graph:
    """The parts of a graph, as they are collected."""

    ml: int = OPSETS["ai.onnx.ml"]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)  # original names of inputs and outputs
    columns: dict[str, tuple[Kind, str]] = field(default_factory=dict)  # each column, and its values, (row,)

    def model(self) -> ModelProto:
        """Put the parts together."""
        made = helper.make_graph(self.nodes, "catbayes", self.inputs, self.outputs, self.constants)
        versions = OPSETS | {"ai.onnx.ml": self.ml}
        opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
        model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="catbayes")
        helper.set_model_props(model, {name: json.dumps(about) for name, about in self.about.items()})
        return model

    def column(self, column: str) -> str:
        """Return the name of an input as it was given, (row, 1)."""
        return next(name for name, about in self.about.items() if about == column)

    def give(self, name: str, values: str, kind: int, shape: list[Any]) -> None:
        """Add an output."""
        name = self._name(name, name)
        self.add("Identity", values, output=name)
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def read(self, column: str, kind: Kind) -> None:
        """Add an input of shape (n, 1)."""
        if kind not in TYPES:
            raise InputError(f"Column {column!r} has {kind.value}, and ONNX has no such type. Fit on them as text.")
        name, (dtype, _) = self._name(column, column), TYPES[kind]
        self.inputs.append(helper.make_tensor_value_info(name, dtype, ["n", 1]))
        values = self.add("Reshape", name, self.constant(np.array([-1])))
        if kind is Kind.BOOLEAN:
            values = self.add("Cast", values, to=TensorProto.INT64)
        self.columns[column] = (kind, values)

    def write(self, lookup: Lookup) -> None:
        """Add the outputs of a lookup, (n, output), to those of the graph."""
        name = self._name(lookup.name, lookup.outputs)
        self.look_up(lookup, name)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n", len(lookup.outputs)]))

    def look_up(self, lookup: Lookup, name: str = "") -> str:
        """Add the outputs of a lookup, (n, output)."""
        tables = [*(level.outputs for level in lookup.levels), lookup.otherwise[None, :]]
        starts = np.cumsum([0, *map(len, tables)]).tolist()
        *upper, (last, start) = zip(lookup.levels, starts, strict=False)
        slot = self._slots(last, start, default=starts[-2])
        for level, start in reversed(upper):
            found = self._slots(level, start, default=-1)
            known = self.add("GreaterOrEqual", found, self.constant(np.array(0)))
            slot = self.add("Where", known, found, slot)
        refused = [missing for column in lookup.required if (missing := self._missing(column, lookup))]
        if refused:
            tables.append(np.full((1, len(lookup.outputs)), np.nan))
        for missing in refused:
            slot = self.add("Where", missing, self.constant(np.array(starts[-1])), slot)
        return self.add("Gather", self.constant(np.concatenate(tables)), slot, output=name)

    def _slots(self, level: Level, start: int, default: int) -> str:
        """Number the keys of the rows from `start`, and others `default`."""
        if len(level.columns) == 1:
            numbers = {key[0]: start + number for number, key in enumerate(level.keys)}
            return self._number(*self.columns[level.columns[0]], numbers, default)
        # The key's number has the codes of its values as digits; the last code is for values in no key.
        parts = [dict.fromkeys(level.part(position)) for position in range(len(level.columns))]
        digits = [{value: digit for digit, value in enumerate(part)} for part in parts]
        radixes = [len(values) + 1 for values in digits]
        place, mixed, keys = 1, "", np.zeros(len(level.keys), dtype=np.int64)
        for position, column in enumerate(level.columns):
            digit = self._number(*self.columns[column], digits[position], radixes[position] - 1)
            scaled = self.add("Mul", digit, self.constant(np.array(place)))
            mixed = self.add("Add", mixed, scaled) if mixed else scaled
            keys += place * np.array([digits[position][value] for value in level.part(position)])
            place *= radixes[position]
        numbers = {key: start + number for number, key in enumerate(keys.tolist())}
        return self._number(Kind.INTEGER, mixed, numbers, default)

    def _number(self, kind: Kind, values: str, numbers: dict[Any, int], default: int) -> str:
        """Encode values as whole numbers; `""` and NaN are missing unless they are categories."""
        codes_of: dict[Any, int] = {MISSING[kind]: numbers.get(None, default)} if kind in MISSING else {}
        codes_of |= {value: number for value, number in numbers.items() if value is not None}
        if kind is Kind.INTEGER and not all(-(2**63) <= value < 2**63 for value in codes_of):
            raise InputError(
                "A category is a whole number of more than 64 bits, and ONNX has no such type. Fit on text."
            )
        if self.ml < OPSETS["ai.onnx.ml"]:
            return self._number_in_lists(kind, values, codes_of, default)
        keys: Any = np.array(list(codes_of) or [0], dtype=TYPES[kind][1])  # no keys at all would be no graph
        codes = np.array(list(codes_of.values()) or [default])
        tables = {"keys_tensor": keys, "values_tensor": codes, "default_tensor": np.array([default])}
        tensors = {name: numpy_helper.from_array(table, name) for name, table in tables.items()}
        return self.add("LabelEncoder", values, domain="ai.onnx.ml", **tensors)

    def _number_in_lists(self, kind: Kind, values: str, codes_of: dict[Any, int], default: int) -> str:
        """Encode values as versions before 4 do: from lists of text, int64 or floats, without NaN."""
        given, keys = values, [value for value in codes_of if value == value]
        if kind is Kind.NUMBER:
            given = self.add("Cast", values, to=TensorProto.FLOAT)
            if len(np.unique(np.array(keys, dtype=np.float32))) < len(keys):
                raise InputError("Categories are numbers that differ only in double precision. Fit on text.")
        forms = {Kind.TEXT: ("keys_strings", str), Kind.NUMBER: ("keys_floats", float)}
        name, form = forms.get(kind, ("keys_int64s", int))
        codes = [codes_of[key] for key in keys] or [default]  # no keys at all would be no graph
        lists: dict[str, Any] = {name: [form(key) for key in keys] or [form()], "values_int64s": codes}
        found = self.add("LabelEncoder", given, domain="ai.onnx.ml", **lists, default_int64=default)
        if kind is not Kind.NUMBER:
            return found
        gap = next(number for value, number in codes_of.items() if value != value)
        return self.add("Where", self.add("IsNaN", values), self.constant(np.array(gap)), found)

    def _missing(self, column: str, lookup: Lookup) -> str | None:
        """Find the rows without a value; None if the type has no missing values."""
        kind, values = self.columns[column]
        if kind is Kind.NUMBER:
            return self.add("IsNaN", values)
        known = (level.part(level.columns.index(column)) for level in lookup.levels if column in level.columns)
        if kind is not Kind.TEXT or any("" in part for part in known):
            return None
        return self.add("Equal", values, self.constant(np.array("", dtype=object)))

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        output = output or f"node/{len(self.nodes)}"  # no column has a slash in its name
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        """Add a constant; returns its name."""
        name = f"constant/{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def _name(self, wanted: str, about: Any) -> str:
        """A unique name of letters, digits and underscores."""
        name = clean = re.sub(r"\W", "_", wanted)
        number = 2
        while name in self.about:
            name, number = f"{clean}_{number}", number + 1
        self.about[name] = about
        return name
