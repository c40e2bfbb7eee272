"""One file for a fitted model: an archive of skops, with a header in JSON.

skops stores the estimators and the encoder, which is as `encoder.save` writes it, and names the types in a file before
it creates any of them. There is no pickle.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from catbayes.core.validation import File
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.io.atomic import read_content, write_content
from catbayes.io.values import read_settings, write_settings

FORMAT, VERSION = "catbayes model", 6
HEADER = "model.json"

TIMES, FREE = 200, 1 << 24
"""Largest uncompressed size, as a multiple of that of the file, and in addition: text of trees takes 5 to 20 times."""

TRUSTED = (
    *("builtins.bytearray", "collections.OrderedDict", "collections.defaultdict"),
    *("catbayes.models.calibration.ErrorScale", "catbayes.models.calibration.NextClass"),
    *("catbayes.models.calibration.NextTarget", "catbayes.models.calibration.Quantiles"),
    *("catbayes.models.calibration.Scaling",),
    *("catboost.core.CatBoostClassifier", "catboost.core.CatBoostRegressor", "functools.partial"),
    *("lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier", "lightgbm.sklearn.LGBMRegressor"),
    *("sklearn._loss.loss.HalfTweedieLossIdentity", "sklearn.calibration._CalibratedClassifier"),
    *("sklearn.calibration._SigmoidCalibration", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"),
    *("sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",),
    *("sklearn.gaussian_process.kernels.ConstantKernel", "sklearn.gaussian_process.kernels.Product"),
    *("sklearn.gaussian_process.kernels.RBF", "sklearn.metrics._dist_metrics.EuclideanDistance64"),
    *("sklearn.neighbors._kd_tree.KDTree", "sklearn.neural_network._stochastic_optimizers.AdamOptimizer"),
    *("sklearn.tree._tree.Tree", "sklearn.utils.validation.check_array", "xgboost.core.Booster"),
    *("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRFClassifier"),
    *("xgboost.sklearn.XGBRFRegressor", "xgboost.sklearn.XGBRegressor"),
)
"""Types in estimators that are trusted, in addition to those that skops trusts."""


class SavedModel:
    """Writing a fitted model to a file, and reading it."""

    def save(self, path: File) -> None:
        """Write the fitted model to one file, without pickle.

        Parameters
        ----------
        path : str, path or open binary file
            An existing file is replaced when the new one is complete.
        """
        check_is_fitted(self)
        write_content(path, _pack(self))

    @classmethod
    def load(cls, path: File, trusted: Collection[str] = ()) -> Self:
        """Read a model that `save` wrote; parameters are those of `catbayes.load`, which takes any kind of model."""
        found: Self = _read_model(path, (cls,), trusted)
        return found


def load(path: File, trusted: Collection[str] = ()) -> Any:
    """Read an encoder or a model of any kind that its method `save` wrote.

    Parameters
    ----------
    path : str, path or open binary file
        What `save` wrote.
    trusted : list of str
        Types, such as `"my_package.MyRegressor"`, that the estimator of a model may be made of, in addition to those
        that the user guide lists. Importing them runs the code of their modules.

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

    _, content = read_content(path)
    if zipfile.is_zipfile(io.BytesIO(content)):
        return _read_model(path, (SamplingClassifier, SamplingRegressor), trusted)
    return SamplingBayesianEncoder.load(path)


def _pack(model: Any) -> bytes:
    """Return the content of the file of a model."""
    settings = model.get_params(deep=False)
    del settings["estimator"], settings["encoder"]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "catbayes": version("catbayes"),
        "model": type(model).__name__,
        "settings": write_settings(settings),
        "encoder": None if model.encoder is None else write_settings(model.encoder.get_params(deep=False)),
        "fit_with": model.fit_with_,
        "categories": list(model._columns.categories),
        "inputs": model._inputs,
        "never_negative": model._never_negative,
    }
    encoder = io.BytesIO()
    if model.encoder_ is not None:
        model.encoder_.save(encoder)
    objects = {
        "estimator": model.estimator,
        "fitted": model.estimators_,
        "encoder": encoder.getvalue(),
        "classes": getattr(model, "classes_", None),
        "calibration": model._calibration,
    }
    archive = io.BytesIO(_skops().dumps(objects, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEADER, json.dumps(header, indent=1))
    return archive.getvalue()


def _read_model(path: Any, kinds: Collection[type[Any]], trusted: Collection[str]) -> Any:
    """Read a model of one of these kinds from a path, or from an open binary file."""
    name, content = read_content(path)
    known = {kind.__name__: kind for kind in kinds}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            if sum(entry.file_size for entry in file.infolist()) > TIMES * len(content) + FREE:
                raise ValueError(f"uncompressed, it is more than {TIMES} times its size")
            header = json.loads(file.read(HEADER))
        if header["format"] != FORMAT:
            raise InputError(f"{name} is no catbayes model, but {header['format']!r}.")
        if header["version"] != VERSION:
            raise InputError(
                f"{name} was written in version {header['version']} of the format, by catbayes "
                f"{header.get('catbayes')}; this one reads version {VERSION}. Use that catbayes, or fit again."
            )
        if header["model"] not in known:
            raise InputError(f"{name} holds a {header['model']!r}: expected one of {', '.join(known)}.")
        return _unpack(known[header["model"]], header, _read_objects(content, trusted))
    except (InputError, ImportError):
        raise
    except Exception as error:
        raise InputError(f"{name} is damaged, cut short, or no catbayes model: {error}") from error


def _read_objects(content: bytes, trusted: Collection[str]) -> dict[str, Any]:
    skops = _skops()
    types = set(skops.get_untrusted_types(data=content))
    refused = sorted(types.difference(TRUSTED, trusted))
    if refused:
        raise InputError(
            f"The estimator in the file is made of {', '.join(refused)}, which are not trusted types. If you trust "
            f"them, load it with trusted={refused!r}."
        )
    found: dict[str, Any] = skops.loads(content, trusted=sorted(types))
    return found


def _unpack(kind: type[Any], header: Any, objects: dict[str, Any]) -> Any:
    """Build the model of what was read."""
    given = None if header["encoder"] is None else SamplingBayesianEncoder(**read_settings(header["encoder"]))
    model = kind(objects["estimator"], given, **read_settings(header["settings"]))
    inputs, encoder = header["inputs"], objects["encoder"]
    model.n_features_in_ = len(inputs)
    if isinstance(inputs[0], str):
        model.feature_names_in_ = np.array(inputs, dtype=object)
    encoder = SamplingBayesianEncoder.load(io.BytesIO(encoder)) if encoder else None
    model._settle(encoder, objects["fitted"], header["fit_with"], objects["classes"], header["categories"])
    model._never_negative, model._calibration = header["never_negative"], objects["calibration"]
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError('Models are saved by skops: pip install "catbayes[skops]".') from error
    return skops.io
