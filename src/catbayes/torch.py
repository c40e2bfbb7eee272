"""A PyTorch layer that encodes categories by draws from their posteriors."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from catbayes.core.column import FittedColumn
from catbayes.core.leakage import require_single_rows
from catbayes.core.slots import Slots
from catbayes.core.table import read_new
from catbayes.core.validation import check_count
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.families import Family
from catbayes.mappings import Function

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("catbayes.torch needs PyTorch: pip install 'catbayes[torch]'.") from error

__all__ = ["PosteriorEmbedding"]


class PosteriorEmbedding(nn.Module):
    """Encode category codes as f(θ): by a new draw for each row in `train()`, by the expectation in `eval()`.

    Posteriors are buffers in torch's default precision: they move with `to(device)` and are part of `state_dict`. They
    are not trained. For amounts, the drawn mean is the difference from that of an unseen category, which fits into
    single precision.

    Parameters
    ----------
    encoder : fitted SamplingBayesianEncoder
        Its `mapping` is "mean", "identity", "polynomial" or "weight_of_evidence".
    eval_draws : int or None
        None: `eval()` returns the expectation, (row, output). K: it returns K stratified draws of each category,
        (draw, row, output); average the network's outputs over the first axis.
    generator : torch.Generator, optional
        Source of the training draws; torch's own if None.

    Examples
    --------
    >>> import torch
    >>> from catbayes import SamplingBayesianEncoder, Scaled
    >>> from catbayes.torch import PosteriorEmbedding
    >>> X, y = [["red"], ["red"], ["blue"], ["blue"]] * 10, [1, 1, 0, 1] * 10
    >>> encoder = SamplingBayesianEncoder(prior=Scaled(0), random_state=0).fit(X, y)
    >>> embedding = PosteriorEmbedding(encoder)
    >>> network = torch.nn.Sequential(embedding, torch.nn.Linear(embedding.n_outputs, 1))
    >>> codes = embedding.codes(X)
    >>> embedding(codes, torch.tensor(y)).shape  # training: a draw for each row, without its own target
    torch.Size([40, 1])
    >>> embedding.eval()(embedding.codes([["red"], ["blue"], ["green"]])).squeeze(1)
    tensor([0.9545, 0.5000, 0.5000])
    >>> PosteriorEmbedding(encoder, eval_draws=5).eval()(codes).shape
    torch.Size([5, 40, 1])
    """

    def __init__(
        self, encoder: SamplingBayesianEncoder, *, eval_draws: int | None = None, generator: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(encoder, SamplingBayesianEncoder) or not hasattr(encoder, "encoding_"):
            raise InputError(f"encoder={encoder!r}: expected a fitted SamplingBayesianEncoder.")
        if eval_draws is not None:
            check_count("eval_draws", eval_draws)
        encoder.encoding_.settings.refuse_nan("a layer")
        if encoder.encoding_.settings.effects:
            raise InputError("effects=True: a layer cannot keep a row's own target out of effects. Use effects=False.")
        self.generator = generator
        self.eval_draws = eval_draws
        self._encoder = copy.deepcopy(encoder)  # as it is now, should it be fitted again
        self._encoding = self._encoder.encoding_
        self._columns = self._encoding.columns
        self._family = encoder.family_
        self._names: list[str] = list(self._columns[0].family.arrays())
        self.n_outputs = sum(column.expectation.shape[1] for column in self._columns)
        for number, column in enumerate(self._columns):
            if isinstance(column.mapping, Function) or column.has_known:
                raise InputError(
                    "PosteriorEmbedding draws in torch, and takes the mappings mean, identity, polynomial and "
                    f"weight_of_evidence, not {type(column.mapping).__name__}."
                )
            for name, value in self._tables(column).items():
                value = torch.as_tensor(np.array(value, dtype=np.float64)).to(torch.get_default_dtype())
                self.register_buffer(f"{name}_{number}", value)

    def _tables(self, column: FittedColumn) -> dict[str, Any]:
        """The buffers of a column, a row for each category, and the origin that is subtracted from means."""
        mapping = column.mapping
        posterior: Any = column.family
        unseen: Any = column.slot_priors
        origin, shift = 0.0, np.zeros(1)
        if posterior.as_differences and mapping.linear:
            usual = posterior.take(column.index.unseen).mean()
            theta = np.zeros_like(usual)
            theta[posterior.location] = usual[posterior.location]
            shift, origin = mapping.drawn(theta), theta[posterior.location].item()
            posterior, unseen = (replace(each, centre=each.centre - origin) for each in (posterior, unseen))
        coarse = torch.tensor(origin).item()  # the origin as two numbers of the buffers' precision
        tables: dict[str, Any] = {"origin": [coarse, origin - coarse], "variance": column.posterior.prior_variance}
        extra = np.empty((len(column.expectation), 0)) if column.extra is None else column.extra.values
        n_drawn = column.expectation.shape[1] - extra.shape[1]
        shift = np.append(np.broadcast_to(shift, n_drawn), np.zeros(extra.shape[1]))
        tables |= {"count": column.posterior.count, "extra": extra, "expectation": column.expectation - shift}
        for kind, value in (("posterior", posterior), ("unseen", unseen), ("mapping", mapping)):
            tables |= {f"{kind}_{name}": values for name, values in value.arrays().items()}
        if self.eval_draws is not None:
            tables["draws"] = column.strata(self.eval_draws, seed=self._encoding.seed) - shift
        return tables

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
        table = read_new(X, self._encoder)
        codes = self._encoding.slots(table.column)
        return torch.as_tensor(np.stack(codes, axis=1).astype(np.int64), device=self.count_0.device)

    def forward(
        self, codes: torch.Tensor, target: torch.Tensor | None = None, weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Features of rows.

        Parameters
        ----------
        codes : LongTensor of shape (n_rows, n_encoded_columns)
            From `codes`.
        target : tensor of n_rows values, optional
            In training: the rows' own targets, class numbers or amounts as in `fit`, which are excluded from their
            posteriors. Required whenever the encoder was fitted on these rows.
        weight : tensor of n_rows values, optional
            Their weights, if the encoder was fitted with weights. With `exposure`, the targets are events per unit and
            the weights w · e.

        Returns
        -------
        features : tensor of shape (n_rows, n_outputs), or (n_draws, n_rows, n_outputs) with `eval_draws`
            f(θ) of every encoded column, side by side.
        """
        if codes.ndim != 2 or codes.shape[1] != len(self._columns):
            raise InputError(f"codes has shape {tuple(codes.shape)}: expected (n_rows, {len(self._columns)}).")
        if self.training:
            if target is not None:
                target, weight = self._check_target(codes, target, weight)
            parts = [self._draw(number, codes[:, number], target, weight) for number in range(len(self._columns))]
        elif self.eval_draws is None:
            parts = [self._buffer("expectation", number)[codes[:, number]] for number in range(len(self._columns))]
        else:
            parts = [self._buffer("draws", number)[:, codes[:, number]] for number in range(len(self._columns))]
        return torch.cat(parts, dim=-1)

    def _check_target(self, codes: torch.Tensor, target: torch.Tensor, weight: Any) -> tuple[torch.Tensor, Any]:
        require_single_rows(self._encoding, weighted=weight is not None)
        target = target.reshape(-1).to(codes.device)
        n_classes = 0 if self._encoder.classes_ is None else len(self._encoder.classes_)
        if len(target) != len(codes) or (n_classes and not ((target >= 0) & (target < n_classes)).all()):
            wanted = f"class numbers from 0 to {n_classes - 1}" if n_classes else "numbers"
            raise InputError(f"target has {len(target)} values for {len(codes)} rows: expected {wanted}, one for each.")
        if n_classes:
            target = target.long()
        elif len(target):
            self._family.check_target(float(target.min()), float(target.max()))
            target = torch.log(target.double()) if self._family.log_target else target.double()
        return target, torch.ones_like(target) if weight is None else weight.reshape(-1).to(codes.device)

    def _buffer(self, name: str, number: int) -> torch.Tensor:
        return self.get_buffer(f"{name}_{number}")

    def _distributions(self, kind: str, number: int) -> Family:
        """The posteriors of a column, or the priors of its categories."""
        return self._family(*(self._buffer(f"{kind}_{name}", number) for name in self._names))

    def _draw(self, number: int, code: torch.Tensor, target: torch.Tensor | None, weight: Any) -> torch.Tensor:
        column, posterior = self._columns[number], self._distributions("posterior", number)
        bound = {name: self._buffer(f"mapping_{name}", number) for name in column.mapping.arrays()}
        count, variance = self._buffer("count", number), self._buffer("variance", number)
        slots = Slots(posterior, count, variance).take(code)
        if target is not None:
            unseen = self._distributions("unseen", number)
            if column.links is not None:  # each category has its own
                unseen = unseen.take(code)
            if not self._family.classes:
                target = (target - self._buffer("origin", number).double().sum()).to(slots.count.dtype)
            slots = slots.without(target, weight.to(slots.count.dtype), unseen)
        slots = slots.settle(column.temperature)
        theta: Any = slots.family.sample(_TorchRandom(self.generator, slots.count))
        drawn = replace(column.mapping, **bound).drawn(slots.closer(theta, column.temperature))
        return torch.cat([drawn, self._buffer("extra", number)[code]], dim=-1)


class _TorchRandom:
    """Replaces a numpy Generator: draws tensors of the precision and on the device of `like`."""

    def __init__(self, generator: Any, like: torch.Tensor) -> None:
        self._how = {"generator": generator, "device": like.device, "dtype": like.dtype}

    def spawn(self, n_children: int) -> list[_TorchRandom]:
        """Return itself: every call continues the stream."""
        return [self] * n_children

    def standard_normal(self, size: Any) -> torch.Tensor:
        """N(0, 1)."""
        return torch.randn(size, **self._how)

    def standard_exponential(self, size: Any) -> torch.Tensor:
        """Exponential of mean 1."""
        return -torch.log1p(-torch.rand(size, **self._how))

    def standard_gamma(self, shape: torch.Tensor) -> torch.Tensor:
        """Gamma of the shapes given, and scale 1."""
        return torch.exp(self._log_gamma(shape))

    def beta(self, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        """Beta, as the share of one gamma in the sum of two, by logarithms."""
        return torch.sigmoid(self._log_gamma(alpha) - self._log_gamma(beta))

    def _log_gamma(self, shape: torch.Tensor) -> torch.Tensor:
        """Logarithm of a Gamma(α) draw, finite for tiny α: Gamma(α) = Gamma(α + 1) · U^(1/α)."""
        draw = torch._standard_gamma(shape + 1.0, generator=self._how["generator"])
        less = self.standard_exponential(shape.shape) / shape
        return torch.log(draw) - less.clamp_max(torch.finfo(shape.dtype).max / 4.0)
