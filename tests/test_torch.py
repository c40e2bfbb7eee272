"""PosteriorEmbedding: the encoder's draws in training, expectations in evaluation, and a module like any other."""

import numpy as np
import pytest

from cases import PRIORS, make_target, repeated
from catbayes import InputError, SamplingBayesianEncoder, Scaled
from catbayes.kinds import Nested

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'catbayes[torch]'")
from catbayes.torch import PosteriorEmbedding  # noqa: E402

UNSEEN = [["unseen", "unseen"]]
EACH_FAMILY = pytest.mark.parametrize("family", PRIORS)


@pytest.fixture(autouse=True)
def double():
    """Doubles, so that torch's arithmetic can be compared with numpy's."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make_encoder(family, mapping="mean", rows=60, **settings):
    random = np.random.default_rng(0)
    code = random.integers(0, 4, rows)
    y = make_target(family, repeated(PRIORS[family], 4).sample(random)[code], random)
    X = np.column_stack([code, code % 2]).astype(str).astype(object)
    encoder = SamplingBayesianEncoder(family=family, prior=PRIORS[family], mapping=mapping, random_state=0, **settings)
    return encoder.fit(X, y), X, y


def origin(encoder, family, unseen=UNSEEN):
    """What a layer subtracts from the means of amounts."""
    return encoder.transform(unseen) if PRIORS[family].as_differences else 0.0


def draws_of(embedding, codes, n, *target):
    torch.manual_seed(0)
    return np.stack([embedding(codes, *target).detach().numpy() for _ in range(n)])


@EACH_FAMILY
def test_evaluation_equals_transform(family):
    encoder, X, _ = make_encoder(family)
    embedding = PosteriorEmbedding(encoder).eval()
    new = np.vstack([X, UNSEEN])
    found = embedding(embedding.codes(new)).numpy() + origin(encoder, family)
    np.testing.assert_allclose(found, encoder.transform(new), atol=1e-12)


@pytest.mark.parametrize(
    ("family", "nested"), [*((family, False) for family in PRIORS), *((f, True) for f in PRIORS if f != "robust")]
)
def test_training_draws_are_those_of_the_encoder(family, nested):
    """With the row's own target excluded: a category of one row is encoded as an unseen one, by a constant."""
    random = np.random.default_rng(0)
    child = np.repeat(np.arange(120), random.choice([1, 3, 9], 120))
    X = np.stack([child // 30, child], axis=1)
    y = make_target(family, repeated(PRIORS[family], 4).sample(random)[child // 30], random)
    kinds = {1: Nested([0])} if nested else None
    prior = "empirical" if nested else PRIORS[family]
    encoder = SamplingBayesianEncoder([1], kinds=kinds, prior=prior, family=family, random_state=0)
    draws = encoder.fit_draws(X, y)
    theirs = np.stack([draws.features(k)[:, 1] for k in range(300)]).astype(float)
    embedding = PosteriorEmbedding(encoder)
    mine = draws_of(embedding, embedding.codes(X), 300, torch.as_tensor(y))[:, :, 0]
    mine = mine + np.asarray(origin(encoder, family, [[99, 999]])).reshape(-1)[-1]
    spread = theirs.std(axis=0)
    assert (spread > 1e-9).mean() > (0.99 if nested else 0.9)
    assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) < 0.4 * spread + 1e-9).all()
    np.testing.assert_allclose(mine.std(axis=0), spread, rtol=0.35, atol=1e-9)


def test_the_weight_of_a_row_is_excluded_with_its_target():
    random = np.random.default_rng(0)
    X, y, weight = [["a"]] * 40, random.integers(0, 2, 40), random.uniform(0.5, 1.0, 40)
    encoder = SamplingBayesianEncoder(prior=Scaled(1e-3), random_state=0)
    theirs = encoder.fit_draws(X, y, weight)
    expected = np.mean([theirs.features(k)[:, 0] for k in range(4000)], axis=0)
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match="give the weight of each row"):
        embedding(embedding.codes(X), torch.tensor(y))
    draws = draws_of(embedding, embedding.codes(X), 4000, torch.tensor(y), torch.tensor(weight))[:, :, 0]
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=0.008)


@pytest.mark.parametrize(
    ("family", "mapping"),
    [
        *((family, mapping) for family in ("bernoulli", "categorical") for mapping in ("mean", "weight_of_evidence")),
        *((family, "polynomial") for family in ("bernoulli", "poisson")),
        ("normal", "identity"),
    ],
)
def test_mappings_are_those_of_the_encoder(family, mapping):
    encoder, X, _ = make_encoder(family, mapping)
    embedding = PosteriorEmbedding(encoder)
    mean = draws_of(embedding, embedding.codes(X), 400).mean(axis=0)
    spread = encoder.sample(X, 400).std(axis=0)
    expected = encoder.transform(X)
    if family == "normal":
        expected[:, ::2] -= encoder.transform(UNSEEN)[:, ::2]
    assert np.abs((mean - expected) / spread).max() < 0.3
    assert embedding.n_outputs == mean.shape[1]


def test_gradients_precision_and_devices_are_those_of_a_module():
    encoder, X, y = make_encoder("normal")
    embedding = PosteriorEmbedding(encoder)
    network = torch.nn.Sequential(embedding, torch.nn.Linear(embedding.n_outputs, 1))
    codes = embedding.codes(X)
    ((network(codes)[:, 0] - torch.tensor(y)) ** 2).mean().backward()
    assert torch.isfinite(network[1].weight.grad).all()
    assert [name for name, _ in network.named_parameters()] == ["1.weight", "1.bias"]
    assert embedding(codes[:0], torch.tensor(y)[:0]).shape == (0, 2)
    assert embedding.float()(codes).dtype == torch.float32
    assert {buffer.device.type for buffer in embedding.to("meta").buffers()} == {"meta"}


@pytest.mark.parametrize("usual", [1e9, 1_234_567_890.7])  # single precision is off by 45 for the second
def test_amounts_far_from_zero_survive_single_precision(usual):
    torch.set_default_dtype(torch.float32)
    random = np.random.default_rng(0)
    code = random.integers(0, 5, 400)
    y = usual + random.normal(size=5)[code] + random.normal(size=400)
    X = code.astype(str).astype(object)[:, None]
    encoder = SamplingBayesianEncoder(random_state=0)
    draws = encoder.fit_draws(X, y)
    theirs = np.stack([draws.features(k)[:, 0] for k in range(200)]) - encoder.transform([["unseen"]])[0, 0]
    embedding = PosteriorEmbedding(encoder)
    mine = draws_of(embedding, embedding.codes(X), 200, torch.tensor(y))[:, :, 0]
    np.testing.assert_allclose(mine.mean(axis=0), theirs.mean(axis=0), atol=0.07)
    np.testing.assert_allclose(mine[0].std(), theirs[0].std(), rtol=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.1}, "would not hide that the row's own target"),
        ({"own_target": "ordered"}, "needs all rows together"),
        ({"own_target": "cross_fit"}, "needs all rows together"),
    ],
)
def test_settings_under_which_a_layer_would_leak_are_refused(settings, message):
    encoder, X, y = make_encoder("normal", **settings)
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match=message):
        embedding(embedding.codes(X), torch.tensor(y))


def test_other_encoders_codes_and_targets_are_refused():
    with pytest.raises(InputError, match="not MeanPrecision"):
        PosteriorEmbedding(make_encoder("bernoulli", "mean_precision")[0])
    with pytest.raises(InputError, match="expected a fitted SamplingBayesianEncoder"):
        PosteriorEmbedding(SamplingBayesianEncoder())
    encoder, X, y = make_encoder("bernoulli")
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match=r"codes has shape \(60, 1\): expected \(n_rows, 2\)"):
        embedding(embedding.codes(X)[:, :1])
    with pytest.raises(InputError, match="expected class numbers from 0 to 1"):
        embedding(embedding.codes(X), torch.tensor(y) + 5)
    assert embedding(embedding.codes(X), torch.tensor(y)[:, None]).shape == (60, 2)  # a column, as losses take them
