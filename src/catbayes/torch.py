"""A layer that feeds a neural network with draws: an embedding whose vectors are posteriors instead of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from catbayes._random import Purpose
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.families import BetaBernoulli, DirichletCategorical, GammaPoisson, NormalGamma
from catbayes.mappings import Identity, Mapping, Mean, Polynomial, WeightOfEvidence
from catbayes.sampling import draw_strata

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("catbayes.torch needs PyTorch: pip install 'catbayes[torch]'.") from error

__all__ = ["PosteriorEmbedding"]

PARAMETERS: dict[type, tuple[str, ...]] = {
    BetaBernoulli: ("alpha", "beta"),
    DirichletCategorical: ("alpha",),
    NormalGamma: ("centre", "strength", "alpha", "beta"),
    GammaPoisson: ("alpha", "beta"),
}


class PosteriorEmbedding(nn.Module):
    """Category codes in, f(θ) out: fresh draws at every forward in `train()`, the expectation in `eval()`.

    Posteriors are buffers: they move with `to(device)` and `double()`, and `state_dict` holds them. Gradients flow to
    whatever follows; the posteriors themselves are not trained.

    Parameters
    ----------
    encoder : fitted SamplingBayesianEncoder
        Its `mapping` is "mean", "identity", "polynomial" or "weight_of_evidence".
    eval_draws : int or None
        None: `eval()` gives the expectation, (row, output). K: it gives K draws of each category, one from each
        quantile stratum, (draw, row, output); average what the network makes of them over the first axis.
    generator : torch.Generator, optional
        Source of the training draws; torch's own if None.

    Examples
    --------
    >>> import torch
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.torch import PosteriorEmbedding
    >>> X, y = [["red"], ["red"], ["blue"], ["blue"]] * 10, [1, 1, 0, 1] * 10
    >>> encoder = SamplingBayesianEncoder(prior=0, random_state=0).fit(X, y)
    >>> embedding = PosteriorEmbedding(encoder)
    >>> network = torch.nn.Sequential(embedding, torch.nn.Linear(embedding.n_outputs, 1))
    >>> codes = embedding.codes(X)
    >>> embedding(codes, torch.tensor(y)).shape  # training: a draw for each row, its own target left out
    torch.Size([40, 1])
    >>> embedding.eval()(embedding.codes([["red"], ["blue"], ["green"]])).squeeze(1)
    tensor([0.9545, 0.5000, 0.5000])
    """

    def __init__(
        self, encoder: SamplingBayesianEncoder, *, eval_draws: int | None = None, generator: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(encoder, SamplingBayesianEncoder) or not hasattr(encoder, "columns_fitted_"):
            raise InputError(f"encoder={encoder!r}: expected a fitted SamplingBayesianEncoder.")
        self.generator = generator
        self.eval_draws = eval_draws
        self.temperature = encoder._temperature()
        self._encoder = encoder
        self._family = encoder.family_
        self._mappings = [column.mapping for column in encoder.columns_fitted_]
        for number, column in enumerate(encoder.columns_fitted_):
            _require_drawn(column.mapping)
            posterior = column.posterior.posterior
            buffers = {name: getattr(posterior, name) for name in PARAMETERS[self._family]}
            buffers |= {"count": column.posterior.statistics.count, "expectation": column.expectation}
            if eval_draws is not None:
                key = (Purpose.PREDICT, column.position, eval_draws)
                through, seed = column.mapping.drawn, encoder._seed
                buffers["draws"] = draw_strata(
                    posterior, through, eval_draws, seed=seed, key=key, temperature=self.temperature
                )
            for name, value in buffers.items():
                # A buffer each, in the precision that networks have; as doubles they are exact.
                self.register_buffer(
                    f"{name}_{number}", torch.as_tensor(np.asarray(value)).to(torch.get_default_dtype())
                )
        self._unseen = [column.posterior.categories.unseen for column in encoder.columns_fitted_]
        self.n_outputs = sum(column.expectation.shape[1] for column in encoder.columns_fitted_)

    def codes(self, X: Any) -> torch.Tensor:
        """Translate the encoded columns of a table to codes, which `forward` takes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to the `fit` of the encoder.

        Returns
        -------
        codes : LongTensor of shape (n_rows, n_encoded_columns)
            On the device of the layer.
        """
        table = self._encoder._read_new(X)
        columns = [self._encoder._codes(table, column) for column in self._encoder.columns_fitted_]
        return torch.as_tensor(np.stack(columns, axis=1).astype(np.int64), device=self.count_0.device)

    def forward(self, codes: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Features of rows.

        Parameters
        ----------
        codes : LongTensor of shape (n_rows, n_encoded_columns)
            From `codes`.
        target : tensor of shape (n_rows,), optional
            In training: the rows' own targets, class numbers or amounts, which are left out of their posteriors. Give
            them whenever the rows are among those that the encoder was fitted on.

        Returns
        -------
        features : tensor of shape (n_rows, n_outputs), or (n_draws, n_rows, n_outputs) with `eval_draws`
            f(θ) of every encoded column, side by side.
        """
        if not self.training:
            name, axis = ("expectation", 0) if self.eval_draws is None else ("draws", 1)
            parts = [
                torch.index_select(self._buffer(name, number), axis, codes[:, number])
                for number in range(len(self._mappings))
            ]
            return torch.cat(parts, dim=-1)
        return torch.cat([self._draw(number, codes[:, number], target) for number in range(len(self._mappings))], -1)

    def _buffer(self, name: str, number: int) -> torch.Tensor:
        return self.get_buffer(f"{name}_{number}")

    def _draw(self, number: int, code: torch.Tensor, target: torch.Tensor | None) -> torch.Tensor:
        names = PARAMETERS[self._family]
        if target is None:
            entry = [self._buffer(name, number)[code] for name in names]
        else:
            alone = self._buffer("count", number)[code] <= 1.0 + 1e-6  # nothing else is known: as if unseen
            code = torch.where(alone, self._unseen[number], code)
            whole = [self._buffer(name, number)[code] for name in names]
            less = _leave_out(self._family, whole, target.to(code.device))
            keep = [alone.reshape(alone.shape + (1,) * (value.ndim - 1)) for value in whole]
            entry = [torch.where(k, a, b) for k, a, b in zip(keep, whole, less, strict=True)]
        theta = _sample(self._family, entry, self.generator)
        if self.temperature != 1.0:
            mean = _mean(self._family, entry)
            theta = mean + self.temperature * (theta - mean)
        return _map(self._mappings[number], theta)


def _require_drawn(mapping: Mapping) -> None:
    if type(mapping) not in (Mean, Identity, Polynomial, WeightOfEvidence):
        raise InputError(
            f"PosteriorEmbedding draws in torch and knows the mappings mean, identity, polynomial and "
            f"weight_of_evidence, not {type(mapping).__name__}."
        )


def _leave_out(family: type, entry: list[torch.Tensor], y: torch.Tensor) -> list[torch.Tensor]:
    """The parameters without one observation, as the family's own `leave_out`."""
    tiny = torch.finfo(entry[0].dtype).tiny
    if family is DirichletCategorical:
        return [(entry[0] - nn.functional.one_hot(y.long(), entry[0].shape[-1])).clamp_min(tiny)]
    y = y.to(entry[0].dtype)
    if family is BetaBernoulli:
        return [(entry[0] - y).clamp_min(tiny), (entry[1] - (1.0 - y)).clamp_min(tiny)]
    if family is GammaPoisson:
        return [(entry[0] - y).clamp_min(tiny), entry[1] - 1.0]
    centre, strength, alpha, beta = entry
    gap, rest = centre - y, strength - 1.0
    left = torch.maximum(beta - strength / rest * gap**2 / 2.0, torch.finfo(beta.dtype).eps * beta)
    return [centre + gap / rest, rest, alpha - 0.5, left]


def _log_gamma(alpha: torch.Tensor, generator: Any) -> torch.Tensor:
    """Logarithm of a Gamma(α) draw, finite for the smallest α: Gamma(α) = Gamma(α + 1) · U^(1/α)."""
    draw = torch._standard_gamma(alpha + 1.0, generator=generator)
    uniform = torch.rand(alpha.shape, generator=generator, device=alpha.device, dtype=alpha.dtype)
    return torch.log(draw) + torch.log1p(-uniform) / alpha


def _sample(family: type, entry: list[torch.Tensor], generator: Any) -> torch.Tensor:
    """Draw θ, (row, parameter)."""
    if family is BetaBernoulli:
        return torch.sigmoid(_log_gamma(entry[0], generator) - _log_gamma(entry[1], generator))[:, None]
    if family is DirichletCategorical:
        return torch.softmax(_log_gamma(entry[0], generator), dim=-1)
    if family is GammaPoisson:
        return (torch.exp(_log_gamma(entry[0], generator)) / entry[1])[:, None]
    centre, strength, alpha, beta = entry
    precision = (torch.exp(_log_gamma(alpha, generator)) / beta).clamp_min(torch.finfo(beta.dtype).tiny)
    noise = torch.randn(centre.shape, generator=generator, device=centre.device, dtype=centre.dtype)
    return torch.stack([centre + noise / torch.sqrt(strength * precision), precision], dim=-1)


def _mean(family: type, entry: list[torch.Tensor]) -> torch.Tensor:
    """E θ, (row, parameter)."""
    if family is BetaBernoulli:
        return (entry[0] / (entry[0] + entry[1]))[:, None]
    if family is DirichletCategorical:
        return entry[0] / entry[0].sum(dim=-1, keepdim=True)
    if family is GammaPoisson:
        return (entry[0] / entry[1])[:, None]
    return torch.stack([entry[0], entry[2] / entry[3]], dim=-1)


def _map(mapping: Mapping, theta: torch.Tensor) -> torch.Tensor:
    """f(θ), (row, output)."""
    theta = theta[..., mapping.select]
    if isinstance(mapping, Polynomial):
        return torch.cat([theta, theta**2], dim=-1)
    if isinstance(mapping, WeightOfEvidence):
        edge = torch.finfo(theta.dtype).eps
        baseline = torch.as_tensor(mapping.baseline, device=theta.device, dtype=theta.dtype)
        return torch.logit(theta.clamp(edge, 1.0 - edge)) - baseline
    return theta
