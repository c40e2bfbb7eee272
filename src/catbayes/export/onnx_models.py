"""Fitted models as ONNX graphs: lookups of the encoder, features of each draw, and the graph of the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from catbayes.core.fitted import Fitted
from catbayes.core.layout import Layout
from catbayes.core.validation import LARGEST, Array
from catbayes.errors import InputError
from catbayes.export.lookups import Kind, input_kinds, lookups
from catbayes.models.backends import last_step
from catbayes.models.fitting import origins

try:
    from onnx import ModelProto, TensorProto

    from catbayes.export.onnx import Graph
except ImportError as error:
    raise ImportError('ONNX models are made by onnx: pip install "catbayes[onnx]".') from error

OPSET = 19


def write_model(
    estimators: Sequence[Any],
    encoding: Fitted | None,
    layout: Layout,
    inputs: Sequence[Any],
    draws: Sequence[Sequence[Array]],
    classes: Any = None,
) -> ModelProto:
    """Make a graph from the columns of X to the prediction, averaged over estimators and draws.

    `draws` holds, for each draw, a (slot, output) table for each encoded column. All draws of a row are stacked, so
    that the graph holds each estimator once.
    """
    if not all(isinstance(name, str) for name in inputs):
        raise InputError("The model was fitted on an array, so its columns have no names. Fit it on a frame.")
    if len(draws) > 1 and len(draws) % len(estimators):
        raise InputError(
            f'{len(draws)} draws cannot be shared equally by {len(estimators)} members. Use to_onnx("mean"), or fit '
            "with another n_draws."
        )
    graph = Graph()
    encoded = [] if encoding is None else _lookups(encoding, [column.expectation for column in encoding.columns])
    kinds = input_kinds(encoded)
    for position, name in enumerate(inputs):
        if name in kinds:
            graph.read(name, kinds[name])
        elif position in layout.passing:
            graph.read(name, Kind.NUMBER)
    rows = [_features(graph, encoding, layout, inputs, tables) for tables in draws]
    found = []
    for number, estimator in enumerate(estimators):
        # With several estimators, each has its share of the draws; at the mean, all have the same features.
        own = rows[number :: len(estimators)] if len(rows) > 1 else rows
        features = graph.add("Concat", *own, axis=0) if len(own) > 1 else own[0]
        response = _respond(graph, estimator, features, layout.places[-1].stop, f"estimator_{number}/", classes)
        shape = [len(own), -1, 1 if classes is None else len(classes)]
        found.append(graph.add("Reshape", response, graph.constant(np.array(shape))))
    stacked = graph.add("Concat", *found, axis=0) if len(found) > 1 else found[0]
    average = graph.add("ReduceMean", stacked, graph.constant(np.array([0])), keepdims=0)
    if classes is None:
        flat = graph.add("Reshape", average, graph.constant(np.array([-1])))
        graph.give("prediction", flat, TensorProto.FLOAT, ["n"])
        return graph.model()
    graph.give("probabilities", average, TensorProto.FLOAT, ["n", len(classes)])
    labels, kind = _labels(classes)
    best = graph.add("ArgMax", average, axis=1, keepdims=0)
    graph.give("label", graph.add("Gather", graph.constant(labels), best), kind, ["n"])
    return graph.model()


def _lookups(encoding: Fitted, tables: Sequence[Array]) -> Any:
    """Make the lookups of other outputs of the slots; slopes go by numbers, and are added to the features."""
    columns = tuple(replace(column, expectation=table) for column, table in zip(encoding.columns, tables, strict=True))
    return lookups(replace(encoding, columns=columns, layout=replace(encoding.layout, slopes=())))


def _features(graph: Graph, encoding: Fitted | None, layout: Layout, inputs: Any, tables: Sequence[Array]) -> str:
    """Add the features of the rows under one draw, (row, feature), in single precision."""
    numbers = {position: graph.column(inputs[position]) for position in layout.passing}
    blocks = dict(numbers)
    if encoding is not None:
        shifted = [
            column.flattened(table) - origin
            for column, table, origin in zip(encoding.columns, tables, origins(encoding.columns), strict=True)
        ]
        for column, lookup in zip(encoding.columns, _lookups(encoding, shifted), strict=True):
            blocks[column.position] = graph.look_up(lookup)
    order = [blocks[position] for position, place in enumerate(layout.places) if place.stop > place.start]
    features = graph.add("Concat", *order, axis=1)
    for effect, own, number, slope in layout.slopes:
        position = next(p for p in layout.passing if layout.places[p].start == number)
        line = _factor(graph, numbers[position], slope)
        scaled = graph.add("Mul", line, graph.add("Gather", features, graph.constant(np.array([own])), axis=1))
        place = np.zeros((1, layout.places[-1].stop))
        place[0, effect] = 1.0
        features = graph.add("Add", features, graph.add("Mul", scaled, graph.constant(place)))
    return graph.add("Cast", features, to=TensorProto.FLOAT)


def _factor(graph: Graph, values: str, slope: Any) -> str:
    """Add what slopes are multiplied by: the number in standard units, 0 where it is missing."""
    centred = graph.add("Sub", values, graph.constant(np.array(slope.centre)))
    units = graph.add("Div", centred, graph.constant(np.array(slope.unit)))
    known = graph.add("LessOrEqual", graph.add("Abs", values), graph.constant(np.array(LARGEST)))
    return graph.add("Where", known, units, graph.constant(np.array(0.0)))


def _respond(graph: Graph, estimator: Any, features: str, width: int, prefix: str, classes: Any) -> str:
    """Add the graph of one estimator; returns its probabilities or predictions."""
    model = _convert(estimator, width)
    own = model.graph
    if classes is not None and len(estimator.classes_) < len(classes):
        raise InputError("A class has no rows of weight, which ONNX models do not support. Fit without that class.")
    names = {own.input[0].name: features}
    wanted = own.output[-1].name  # of a classifier, the first are labels
    for constant in own.initializer:
        names[constant.name] = constant.name = prefix + constant.name
        graph.constants.append(constant)
    for number, node in enumerate(own.node):
        node.input[:] = [names.get(name, prefix + name) if name else "" for name in node.input]
        node.output[:] = [prefix + name for name in node.output]
        node.name = f"{prefix}{number}"
        graph.nodes.append(node)
    return f"{prefix}{wanted}"


def _convert(estimator: Any, width: int) -> ModelProto:
    """Convert an estimator by skl2onnx, or by onnxmltools if it is a booster."""
    last = last_step(estimator)
    package = type(last).__module__.partition(".")[0]
    try:
        if package in ("lightgbm", "xgboost") and last is estimator:
            import onnxmltools
            from onnxmltools.convert.common.data_types import FloatTensorType as Floats

            if package == "xgboost":
                estimator = deepcopy(estimator)
                estimator.get_booster().feature_names = None  # its converter knows features by their numbers
            convert = getattr(onnxmltools, f"convert_{package}")
            options = {"zipmap": False} if package == "lightgbm" else {}
            return convert(estimator, initial_types=[("features", Floats([None, width]))], target_opset=15, **options)
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        plain = {id(estimator): {"zipmap": False}} if hasattr(estimator, "predict_proba") else None
        types = [("features", FloatTensorType([None, width]))]
        return to_onnx(estimator, initial_types=types, options=plain, target_opset={"": OPSET, "ai.onnx.ml": 3})
    except ImportError as error:
        raise ImportError('Models are converted by skl2onnx: pip install "catbayes[skl2onnx]".') from error
    except Exception as error:  # the converters raise errors of many types
        reason = str(error).partition("\n")[0][:80]
        raise InputError(
            f"The converters of scikit-learn, LightGBM and XGBoost do not support this {type(last).__name__}: {reason}"
        ) from error


def _labels(classes: Any) -> tuple[Any, int]:
    """Return the class labels as a tensor that ONNX has a type for."""
    labels = np.asarray(classes)
    if labels.dtype.kind in "iub":
        return labels.astype(np.int64), TensorProto.INT64
    return np.array([str(label) for label in labels], dtype=object), TensorProto.STRING
