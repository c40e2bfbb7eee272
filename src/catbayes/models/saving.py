"""One file for a fitted model: a zip archive of its encoder, of its estimators, and of a header in JSON.

The encoder is a file as `encoder.save` writes it. LightGBM, XGBoost and CatBoost write their own formats, and skops
writes all else: it names the types that a file holds before it makes any of them. There is no pickle.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Collection, Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from catbayes.core.target import label_array
from catbayes.core.types import File
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.io.atomic import replacing
from catbayes.io.save import require_regular, size_of
from catbayes.io.settings import read_settings, read_value, write_settings, write_values
from catbayes.models.backends import BACKENDS, backend_of
from catbayes.models.calibration import NextClass, NextTarget

FORMAT, VERSION = "catbayes model", 4
HEADER, ENCODER, CALIBRATION = "model.json", "encoder.parquet", "calibration.npz"
PARTS = ("estimator", "encoder")
"""Parameters that are written by themselves."""

TIMES, FREE = 200, 1 << 24
"""Largest uncompressed size, as a multiple of that of the file, and in addition: text of trees takes 5 to 20 times."""
HEADER_TIMES, HEADER_FREE = 20, 1 << 20
"""The same for the header, of which every value becomes an object."""
LOCAL = {name for backend in BACKENDS for name in backend.local_parameters}
THREADS = {name for backend in BACKENDS for name in backend.thread_parameters}
MOST_DRAWS = 10_000
"""Draws to predict with, at most: they are made when a file is loaded."""

TRUSTED = (
    *("builtins.bytearray", "collections.OrderedDict", "collections.defaultdict"),
    *("catboost.core.CatBoostClassifier", "catboost.core.CatBoostRegressor", "functools.partial"),
    *("lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier", "lightgbm.sklearn.LGBMRegressor"),
    *("sklearn._loss.loss.HalfTweedieLossIdentity", "sklearn.calibration._CalibratedClassifier"),
    *("sklearn.calibration._SigmoidCalibration", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"),
    *("sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",),
    *("sklearn.gaussian_process.kernels.ConstantKernel", "sklearn.gaussian_process.kernels.Product"),
    *("sklearn.gaussian_process.kernels.RBF", "sklearn.metrics._dist_metrics.EuclideanDistance64"),
    *("sklearn.neighbors._kd_tree.KDTree", "sklearn.neural_network._stochastic_optimizers.AdamOptimizer"),
    *("sklearn.tree._tree.Tree", "sklearn.utils.validation.check_array", "xgboost.core.Booster"),
    *("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRegressor"),
)
"""Types in estimators that are trusted, in addition to those that skops trusts."""


class SavedModel:
    """Writing a fitted model to a file, and reading it."""

    def save(self, path: File) -> None:
        """Write the fitted model to one file, without pickle.

        It is a zip archive: the encoder as `encoder.save` writes it, models of LightGBM, XGBoost and CatBoost in their
        own formats, and all other estimators as skops writes them.

        Parameters
        ----------
        path : str, path or open binary file
            An existing file is replaced when the new one is complete.

        Examples
        --------
        >>> import io
        >>> from lightgbm import LGBMRegressor
        >>> from catbayes import SamplingRegressor
        >>> X, y = [["a", 1], ["b", 2], ["c", 3], ["d", 4]] * 10, [1.5, 2.0, 2.5, 3.0] * 10
        >>> model = SamplingRegressor(LGBMRegressor(verbose=-1), random_state=0).fit(X, y)
        >>> file = io.BytesIO()
        >>> model.save(file)
        >>> bool((SamplingRegressor.load(file).predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self)
        content = _pack(self)
        if not isinstance(path, str | os.PathLike):
            path.write(content)
            return
        with replacing(path) as temporary:
            temporary.write_bytes(content)

    @classmethod
    def load(cls, path: File, trusted: Collection[str] = ()) -> Self:
        """Read a model that `save` wrote; `catbayes.load` takes any kind of model and encoder.

        Parameters
        ----------
        path : str, path or open binary file
            What `save` wrote.
        trusted : list of str
            Types, such as `"my_package.MyRegressor"`, that an estimator in the file may be made of, in addition to
            those of scikit-learn and those that the user guide lists. Importing them runs the code of their modules.

        Returns
        -------
        model
            With the same settings and the same predictions.
        """
        found: Self = load_model(path, (cls,), trusted)
        return found


def load(path: File, trusted: Collection[str] = ()) -> Any:
    """Read an encoder or a model of any kind that its method `save` wrote.

    Parameters
    ----------
    path : str, path or open binary file
        What `save` wrote.
    trusted : list of str
        Types that the estimator of a model may be made of, in addition to those that the user guide lists.

    Returns
    -------
    encoder or model
        With the same settings, posteriors, seed, draws and predictions.

    Examples
    --------
    >>> import catbayes, io
    >>> file = io.BytesIO()
    >>> catbayes.SamplingBayesianEncoder(mapping="moments").fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]).save(file)
    >>> catbayes.load(file)
    SamplingBayesianEncoder(mapping='moments')
    """
    from catbayes.models.classifier import SamplingClassifier  # built on this module
    from catbayes.models.regressor import SamplingRegressor

    require_regular(path)
    if zipfile.is_zipfile(path):
        return load_model(path, (SamplingClassifier, SamplingRegressor), trusted)
    return SamplingBayesianEncoder.load(path)


# ------------------------------------------------------------------------------ writing


def _pack(model: Any) -> bytes:
    files: dict[str, bytes] = {}
    if model.encoder_ is not None:
        encoder = io.BytesIO()
        model.encoder_.save(encoder)
        files[ENCODER] = encoder.getvalue()
    calibration, trees = model._calibration, None
    if calibration is not None:
        arrays = io.BytesIO()
        np.savez(arrays, **calibration.to_arrays())
        files[CALIBRATION] = arrays.getvalue()
        scale = getattr(calibration, "scale", None)
        if scale is not None and scale.trees is not None:
            trees = _write_estimator(scale.trees, "fitted_scale", files)
    settings = {name: value for name, value in model.get_params(deep=False).items() if name not in PARTS}
    classes = getattr(model, "classes_", None)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "model": type(model).__name__,
        "settings": write_settings(settings),
        "estimator": None if model.estimator is None else _write_estimator(model.estimator, "estimator", files),
        "encoder": None if model.encoder is None else write_settings(model.encoder.get_params(deep=False)),
        "fit_with": model.fit_with_,
        "categories": list(model._columns.categories),
        "inputs": list(getattr(model, "feature_names_in_", range(model.n_features_in_))),
        "named": hasattr(model, "feature_names_in_"),
        "classes": None if classes is None else write_values(classes.tolist(), "class"),
        "class_type": None if classes is None else classes.dtype.str,
        "scale": trees,
        "fitted": [
            _write_estimator(fitted, f"fitted_{number}", files) for number, fitted in enumerate(model.estimators_)
        ],
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEADER, json.dumps(header, indent=1))
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


def _write_estimator(estimator: Any, name: str, files: dict[str, bytes]) -> dict[str, Any]:
    """Describe an estimator, fitted if its name begins with that, and add its file, if it needs one, to `files`."""
    backend, kind = backend_of(estimator), type(estimator)
    params = {name: value for name, value in estimator.get_params(deep=False).items() if name not in LOCAL}
    known = kind.__module__.split(".")[0] == backend.package and kind.__name__ in backend.saved_classes
    if not (known and _is_plain(params) and params.keys() <= backend.parameters_of(kind)):
        files[f"{name}.skops"] = _skops().dumps(estimator)
        return {"file": f"{name}.skops"}
    record: dict[str, Any] = {"kind": kind.__name__, "params": params}
    if name.startswith("fitted"):
        record["file"] = f"{name}.{backend.ending}"
        files[record["file"]] = backend.write(estimator)
        record["classes"] = np.asarray(estimator.classes_).tolist() if is_classifier(estimator) else None
    return record


# ------------------------------------------------------------------------------ reading


def load_model(path: Any, kinds: Collection[type[Any]], trusted: Collection[str]) -> Any:
    """Read a model from a path, or from an open binary file."""
    require_regular(path)
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else "The file"
    known = {kind.__name__: kind for kind in kinds}
    try:
        with zipfile.ZipFile(path) as file:
            size = size_of(path)
            read = _Entries(file, size)
            if file.getinfo(HEADER).file_size > HEADER_TIMES * size + HEADER_FREE:
                raise ValueError("its header is too large")
            header = json.loads(read(HEADER))
            if header["format"] != FORMAT:
                raise InputError(f"{name} is no catbayes model, but {header['format']!r}.")
            if header["version"] != VERSION:
                raise InputError(
                    f"{name} was written in version {header['version']} of the format, by catbayes "
                    f"{header.get('catbayes')}; this one reads version {VERSION}. Use that catbayes, or fit again."
                )
            if header["model"] not in known:
                raise InputError(f"{name} holds a {header['model']!r}: expected one of {', '.join(known)}.")
            return _unpack(known[header["model"]], header, read, {*TRUSTED, *trusted})
    except (InputError, ImportError):
        raise
    except Exception as error:
        raise InputError(f"{name} is damaged, cut short, or no catbayes model: {error}") from error


class _Entries:
    """Entries of an archive, read by name, as long as their uncompressed size is in proportion to the file."""

    def __init__(self, file: zipfile.ZipFile, size: int) -> None:
        self.file, self.left = file, TIMES * size + FREE

    def __contains__(self, name: str) -> bool:
        return name in self.file.namelist()

    def __call__(self, name: str) -> bytes:
        self._take(self.file.getinfo(name).file_size)
        content = self.file.read(name)
        if name.endswith((".skops", ".npz")):  # archives themselves
            with zipfile.ZipFile(io.BytesIO(content)) as inner:
                self._take(sum(entry.file_size for entry in inner.infolist()))
        return content

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ValueError(f"uncompressed, it is more than {TIMES} times its size")


def _unpack(kind: type[Any], header: Any, read: _Entries, trusted: set[str]) -> Any:
    estimator = None if header["estimator"] is None else _read_estimator(header["estimator"], read, trusted)
    encoder = None if header["encoder"] is None else SamplingBayesianEncoder(**read_settings(header["encoder"]))
    model = kind(estimator, encoder, **read_settings(header["settings"]))
    if not isinstance(model.predict_with, str) and not 0 < model.predict_with <= MOST_DRAWS:
        raise ValueError(f"predict_with={model.predict_with!r} is too many")
    inputs = header["inputs"]
    if len({*inputs}) < len(inputs):
        raise ValueError("two of its columns have one name")
    model.n_features_in_ = len(inputs)
    if header["named"]:
        model.feature_names_in_ = np.array(inputs, dtype=object)
    classes = None
    if (header["classes"] is not None) != isinstance(model, ClassifierMixin):
        raise ValueError("classes are for classifiers")
    if header["classes"] is not None:
        labels = [read_value(pair) for pair in header["classes"]]
        classes = label_array(labels, np.dtype(header["class_type"]))
        if len(np.unique(classes)) < max(2, len(labels)):
            raise ValueError("its classes are fewer than two, or not distinct")
    n_classes = None if classes is None else len(classes)
    fitted = SamplingBayesianEncoder.load(io.BytesIO(read(ENCODER))) if ENCODER in read else None
    if not header["fitted"]:
        raise ValueError("it holds no fitted estimator")
    estimators = [_read_estimator(record, read, trusted, n_classes) for record in header["fitted"]]
    model._settle(fitted, estimators, header["fit_with"], classes, categories=header["categories"])
    trees = None if header["scale"] is None else _read_estimator(header["scale"], read, trusted)
    if CALIBRATION in read:
        arrays = np.load(io.BytesIO(read(CALIBRATION)), allow_pickle=False)
        model._calibration = (NextTarget if "noise" in arrays else NextClass).from_arrays(arrays, trees)
    return model


def _read_estimator(record: Any, read: _Entries, trusted: set[str], n_classes: int | None = None) -> Any:
    if "kind" in record:
        name, params = record["kind"], record["params"]
        backend = next(backend for backend in BACKENDS if name in backend.saved_classes)
        kind = getattr(import_module(backend.package), name)
        unknown = params.keys() - backend.parameters_of(kind)
        if unknown:
            raise ValueError(f"{name} has no parameters {sorted(unknown)}")
        usual = kind().get_params()
        for parameter, value in params.items():
            if not _is_like(value, usual.get(parameter)):
                raise ValueError(f"{parameter}={value!r} is no parameter of {name}")
        model = _without_local(kind(**params))
        if "file" in record:
            backend.read(model, read(record["file"]), _read_classes(record["classes"], n_classes))
        return model
    content, skops = read(record["file"]), _skops()
    types = set(skops.get_untrusted_types(data=content))
    refused = sorted(types - trusted)
    if refused:
        raise InputError(
            f"The estimator in the file is made of {', '.join(refused)}, which are not trusted types. If you trust "
            f"them, load it with trusted={refused!r}."
        )
    return _without_local(skops.loads(content, trusted=sorted(types)))


def _read_classes(numbers: Any, n_classes: int | None) -> list[int] | None:
    """Check the classes of a booster: two or more of those of the model, by their numbers."""
    if (numbers is None) != (n_classes is None):
        raise ValueError("classes are for classifiers")
    if numbers is None:
        return None
    known = [int(number) for number in numbers]
    if len(known) < 2 or known != sorted({*known}) or not 0 <= known[0] <= known[-1] < (n_classes or 0):
        raise ValueError("the classes of a booster are not those of the model")
    return known


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'skops saves what is not of LightGBM, XGBoost or CatBoost: pip install "catbayes[skops]".'
        ) from error
    return skops.io


def _without_local(estimator: Any) -> Any:
    """Unset parameters that name machines, files or folders, and limit threads to the cores, in all parts."""
    most = os.cpu_count() or 1
    for part in _parts(estimator):
        changed: dict[str, Any] = {}
        for name, value in part.get_params(deep=False).items():
            if name in LOCAL and value is not None:
                changed[name] = None
            elif name in THREADS and value is not None and not (type(value) is int and abs(value) <= most):
                changed[name] = most
        if changed:
            part.set_params(**changed)
    return estimator


def _parts(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield an estimator and all estimators in it: parameters, steps, and fitted ones."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        inside = list(value)
    elif hasattr(value, "get_params"):
        yield value
        inside = list(vars(value).values())
    else:
        return
    for part in inside:
        yield from _parts(part, seen)


def _is_like(value: Any, usual: Any) -> bool:
    """Tell whether a value of a file is plain, and a number or a text where the default is one."""
    if not _is_plain(value):
        return False
    if value is None or usual is None:
        return True
    kinds = [bool, str] if isinstance(usual, bool) else [int, float] if isinstance(usual, int | float) else [str]
    return type(value) in kinds or not isinstance(usual, bool | int | float | str)


def _is_plain(value: Any) -> bool:
    """Tell whether JSON gives a value back as it is."""
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, bool, int, float)
