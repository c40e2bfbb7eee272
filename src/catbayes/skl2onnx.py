"""Whole Pipelines as ONNX models: skl2onnx converts scikit-learn's steps, and our encoders once they are registered."""

from __future__ import annotations

from typing import Any

from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.export.lookups import input_kinds, lookups

try:
    from onnx import TensorProto, defs, helper, numpy_helper
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    from catbayes.export.onnx import write_onnx
except ImportError as error:
    raise ImportError('Pipelines are converted by skl2onnx: pip install "catbayes[skl2onnx]".') from error

__all__ = ["register"]

ML = 2
"""Version of `ai.onnx.ml` that encodes values by lists, which skl2onnx knows."""


def register() -> None:
    """Let skl2onnx convert `SamplingBayesianEncoder`, wherever it stands in a Pipeline.

    The graph gives what `transform` gives, in single precision unless an input is of doubles. Columns of text are
    inputs of their own, `StringTensorType([None, 1])`, in the order that they had at fit. What holds for `to_onnx` of
    an encoder holds here, but that categories which are numbers are compared in single precision.

    Examples
    --------
    >>> import onnxruntime, pandas as pd
    >>> from skl2onnx import to_onnx
    >>> from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from catbayes import SamplingBayesianEncoder, skl2onnx
    >>> X = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Rome", "Kyiv"] * 20, "age": range(100)})
    >>> pipeline = make_pipeline(SamplingBayesianEncoder(random_state=0), LogisticRegression(max_iter=1000))
    >>> pipeline = pipeline.fit(X, [1, 0, 1, 0, 0] * 20)
    >>> skl2onnx.register()
    >>> types = [("city", StringTensorType([None, 1])), ("age", FloatTensorType([None, 1]))]
    >>> session = onnxruntime.InferenceSession(to_onnx(pipeline, initial_types=types).SerializeToString())
    >>> rows = {"city": X[["city"]].to_numpy(dtype=object)[:3], "age": X[["age"]].to_numpy("float32")[:3]}
    >>> session.run(["output_label"], rows)[0].tolist() == pipeline.predict(X[:3]).tolist()
    True
    """
    update_registered_converter(SamplingBayesianEncoder, "CatbayesSamplingBayesianEncoder", _shape, _convert)


def _shape(operator: Any) -> None:
    """All features are one tensor."""
    doubles = any(isinstance(given.type, DoubleTensorType) for given in operator.inputs)
    width = operator.raw_operator.encoding_.layout.places[-1].stop
    operator.outputs[0].type = (DoubleTensorType if doubles else FloatTensorType)([None, width])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of the encoder into that of the Pipeline, with the columns that pass through."""
    graph = _Graph(scope, container)
    encoding = operator.raw_operator.encoding_
    columns = _columns(graph, operator.inputs, [str(name) for name in encoding.evidence.inputs])
    found = lookups(encoding)
    model = write_onnx(found, ml=ML)
    inputs = {info.name: columns[name] for name, info in zip(input_kinds(found), model.graph.input, strict=True)}
    names = graph.write(model.graph, inputs)
    encoded = {
        column.position: names[info.name] for column, info in zip(encoding.columns, model.graph.output, strict=True)
    }
    passing = list(columns.values())
    to = TensorProto.DOUBLE if isinstance(operator.outputs[0].type, DoubleTensorType) else TensorProto.FLOAT
    parts = [
        graph.add("Cast", encoded.get(position) or passing[position], to=to)
        for position, place in enumerate(encoding.layout.places)
        if place.stop > place.start
    ]
    graph.add("Concat", *parts, output=operator.outputs[0].full_name, axis=1)


class _Graph:
    """The graph that skl2onnx is about to make."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node, of the newest version that was asked for; returns the name of what it gives."""
        version = ML if domain else defs.get_schema(operator, self.container.target_opset).since_version
        output = output or self.scope.get_unique_variable_name("catbayes")
        name = self.scope.get_unique_operator_name("catbayes")
        about = {"op_domain": domain, "op_version": version, "name": name}
        self.container.add_node(operator, list(inputs), [output], **about, **attributes)
        return output

    def constant(self, tensor: Any) -> str:
        """Add a constant; returns its name."""
        name: str = self.scope.get_unique_variable_name("catbayes")
        values = numpy_helper.to_array(tensor).ravel().tolist()
        self.container.add_initializer(name, tensor.data_type, list(tensor.dims), values)
        return name

    def write(self, graph: Any, inputs: dict[str, str]) -> dict[str, str]:
        """Add all of another graph; returns what its values are called here."""
        names = inputs | {constant.name: self.constant(constant) for constant in graph.initializer}
        for node in graph.node:
            attributes = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
            given = [names[name] for name in node.input]
            names[node.output[0]] = self.add(node.op_type, *given, domain=node.domain, **attributes)
        return names


def _columns(graph: _Graph, inputs: Any, wanted: list[str]) -> dict[str, str]:
    """A tensor of shape (n, 1) for each column of the encoder, by its name; wider inputs are taken apart."""
    given: list[str] = []
    for variable in inputs:
        width = variable.type.shape[1] or 0
        if width == 1:
            given.append(variable.full_name)
            continue
        for place in range(width):
            index = graph.constant(helper.make_tensor("", TensorProto.INT64, [1], [place]))
            given.append(graph.add("Gather", variable.full_name, index, axis=1))
    if len(given) != len(wanted):
        raise InputError(
            f"The encoder was fitted on {len(wanted)} columns, and skl2onnx gives it {len(given)}: name as many in "
            "initial_types, or in one of them by its shape."
        )
    return dict(zip(wanted, given, strict=True))
