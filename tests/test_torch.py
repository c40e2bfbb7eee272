"""PosteriorEmbedding: draws in training, expectations in evaluation, and a module like any other."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import stats

from cases import PRIORS, as_read, make_target
from catbayes import InputError, SamplingBayesianEncoder, Scaled
from catbayes.kinds import Nested

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'catbayes[torch]'")
from catbayes.torch import PosteriorEmbedding  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    """Doubles, so that torch's arithmetic can be compared with numpy's."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make_encoder(family, mapping="mean", rows=60, **settings):
    random = np.random.default_rng(0)
    code = random.integers(0, 4, rows)
    theta = type(PRIORS[family])(*(np.repeat(np.asarray(p)[None], 4, axis=0) for p in _parameters(family)))
    y = make_target(family, theta.sample(random)[code], random)
    X = np.column_stack([code, code % 2]).astype(str).astype(object)
    encoder = SamplingBayesianEncoder(family=family, prior=PRIORS[family], mapping=mapping, random_state=0, **settings)
    return encoder.fit(X, y), X, y


def _parameters(family):
    return list(PRIORS[family].arrays().values())


def repeat(embedding, code, n, target=None):
    """Many draws of one row."""
    codes = torch.tensor([[code, code]] * n)
    return embedding(codes, None if target is None else torch.full((n,), target)).numpy()


@pytest.mark.parametrize("family", PRIORS)
def test_evaluation_equals_transform(family):
    encoder, X, _ = make_encoder(family)
    embedding = PosteriorEmbedding(encoder).eval()
    new = np.vstack([X, [["unseen", "unseen"]]])
    usual = encoder.transform([["unseen", "unseen"]]) if PRIORS[family].as_differences else 0.0
    np.testing.assert_allclose(embedding(embedding.codes(new)).numpy() + usual, encoder.transform(new), atol=1e-12)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("family", PRIORS)
def test_training_draws_have_the_distribution_of_the_posterior(family, own):
    """With the own target given, of the posterior without it, which the family itself says."""
    encoder, X, y = make_encoder(family, temperature=1.0)
    embedding = PosteriorEmbedding(encoder, generator=torch.Generator().manual_seed(1)).train()
    column = encoder.encoding_.columns[0]
    target = y[X[:, 0] == "0"][3] if own else None
    draws = repeat(embedding, 0, 4000, target)[:, 0]
    if PRIORS[family].as_differences:
        draws = draws + column.family.mean()[column.index.unseen, 0]
    posterior = column.family.take([0])
    if own:
        posterior = posterior.leave_out(as_read(family, np.array([target])), np.ones(1))
    many = posterior.take(np.zeros(4000, dtype=int)).sample(np.random.default_rng(2))
    assert stats.ks_2samp(draws, column.mapping.drawn(many)[:, 0]).pvalue > 1e-3


@pytest.mark.parametrize("family", PRIORS)
def test_the_arithmetic_of_a_family_runs_on_tensors(family):
    encoder, X, y = make_encoder(family)
    column = encoder.encoding_.columns[0]
    known, unseen, statistics = column.family, column.slot_priors, column.statistics
    rows, weight = np.array([0, 1, 3, 3]), np.array([1.0, 0.5, 0.0, 2.0])
    own = as_read(family, y[[np.flatnonzero(X[:, 0] == str(row))[0] for row in rows]])

    def tensors(value):
        return type(value)(*(torch.tensor(getattr(value, entry.name)) for entry in fields(value)))

    def results(posterior, prior, statistics, own, weight):
        left = posterior.take(rows).where(weight < 1, prior).leave_out(own, weight / 2)
        for each in (left, left.worth(weight + 1.0), posterior.update(statistics)):
            yield from (each.mean(), each.variance(), each.strength, *each.arrays().values())

    theirs = results(tensors(known), tensors(unseen), tensors(statistics), torch.tensor(own), torch.tensor(weight))
    for mine, tensor in zip(results(known, unseen, statistics, own, weight), theirs, strict=True):
        np.testing.assert_allclose(tensor.numpy(), mine, rtol=1e-14)


def test_a_category_of_one_row_is_drawn_as_unseen_when_its_target_is_left_out():
    X = [["a"]] * 30 + [["alone"]]
    encoder = SamplingBayesianEncoder(prior=Scaled(1e-2), random_state=0).fit(X, [0, 1] * 15 + [1])
    embedding = PosteriorEmbedding(encoder)
    code, unseen = embedding.codes([["alone"]]).item(), embedding.codes([["never"]]).item()
    torch.manual_seed(0)
    alone = embedding(torch.tensor([[code]] * 4000), torch.ones(4000)).numpy()[:, 0]
    prior = embedding(torch.tensor([[unseen]] * 4000)).numpy()[:, 0]
    assert stats.ks_2samp(alone, prior).pvalue > 1e-3


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
    torch.manual_seed(0)
    mean = np.mean([embedding(embedding.codes(X)).detach().numpy() for _ in range(400)], axis=0)
    spread = encoder.sample(X, 400).std(axis=0)
    expected = encoder.transform(X)
    if family == "normal":
        expected[:, ::2] -= encoder.transform([["unseen", "unseen"]])[:, ::2]
    assert np.abs((mean - expected) / spread).max() < 0.3
    assert embedding.n_outputs == mean.shape[1]


def test_temperature_narrows_the_draws():
    encoder, _, _ = make_encoder("bernoulli", temperature=0.5)
    wide, _, _ = make_encoder("bernoulli", temperature=1.0)
    torch.manual_seed(0)
    narrow, full = (repeat(PosteriorEmbedding(e), 0, 4000)[:, 0].std() for e in (encoder, wide))
    assert narrow == pytest.approx(full / 2, rel=0.05)


@pytest.mark.parametrize("family", PRIORS)
def test_the_spread_goes_by_count_as_in_the_encoder(family):
    """With and without the own target."""
    encoder, X, y = make_encoder(family, rows=60)
    column, n = encoder.encoding_.columns[0], (X[:, 0] == "0").sum()
    torch.manual_seed(0)
    target = y[X[:, 0] == "0"][3]
    for own, left in ((None, n), (target, n - 1)):
        drawn = repeat(PosteriorEmbedding(encoder), 0, 20_000, own)[:, 0]
        posterior = column.family.take([0])
        if own is not None:
            posterior = posterior.leave_out(as_read(family, np.array([own])), np.ones(1))
        share = left / (left + float(PRIORS[family].strength))
        assert drawn.var() == pytest.approx(share * posterior.variance()[0, 0], rel=0.06)


def test_draws_are_fresh_at_every_forward_and_follow_the_generator():
    encoder, X, _ = make_encoder("bernoulli")
    embedding = PosteriorEmbedding(encoder, generator=torch.Generator().manual_seed(3))
    codes = embedding.codes(X)
    first, second = embedding(codes), embedding(codes)
    assert (first != second).all()
    again = PosteriorEmbedding(encoder, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(again(codes), first)


def test_evaluation_over_draws_gives_an_axis_to_average():
    encoder, X, _ = make_encoder("bernoulli")
    embedding = PosteriorEmbedding(encoder, eval_draws=50).eval()
    draws = embedding(embedding.codes(X))
    assert draws.shape == (50, len(X), 2)
    np.testing.assert_allclose(draws.mean(dim=0).numpy(), encoder.transform(X), atol=0.01)
    torch.testing.assert_close(draws, embedding(embedding.codes(X)))


def test_it_is_a_module_state_precision_and_gradients():
    encoder, X, y = make_encoder("normal")
    embedding = PosteriorEmbedding(encoder)
    network = torch.nn.Sequential(embedding, torch.nn.Linear(embedding.n_outputs, 1))
    loss = ((network(embedding.codes(X))[:, 0] - torch.tensor(y)) ** 2).mean()
    loss.backward()
    assert torch.isfinite(network[1].weight.grad).all()
    assert [name for name, _ in network.named_parameters()] == ["1.weight", "1.bias"]
    codes = embedding.codes(X)
    assert embedding.float()(codes).dtype == torch.float32
    meta = embedding.to("meta")
    assert meta.count_0.device.type == "meta"


def test_the_state_is_everything_that_draws_depend_on():
    (first, X, _), (second, _, _) = (make_encoder("bernoulli", "weight_of_evidence", rows=rows) for rows in (60, 90))
    one, two = (PosteriorEmbedding(encoder, generator=torch.Generator()) for encoder in (first, second))
    codes = one.codes(X)
    assert (one.eval()(codes) != two.eval()(codes)).any()
    two.load_state_dict(one.state_dict())
    torch.testing.assert_close(two.eval()(codes), one.eval()(codes))
    for layer in (one, two):
        layer.train().generator.manual_seed(0)
    torch.testing.assert_close(two(codes), one(codes))


def test_loading_a_state_leaves_the_encoder_alone():
    (first, X, _), (second, _, _) = (make_encoder("bernoulli", rows=rows) for rows in (60, 90))
    before = second.transform(X), second.sample(X)
    PosteriorEmbedding(second).load_state_dict(PosteriorEmbedding(first).state_dict())
    np.testing.assert_array_equal(second.transform(X), before[0])
    np.testing.assert_array_equal(second.sample(X), before[1])


@pytest.mark.parametrize("usual", [1e9, 1_234_567_890.7])  # the second is no number of single precision, by 45 units
def test_amounts_far_from_zero_survive_single_precision(usual):
    torch.set_default_dtype(torch.float32)
    random = np.random.default_rng(0)
    code = random.integers(0, 5, 400)
    y = usual + random.normal(size=5)[code] + random.normal(size=400)
    X = code.astype(str).astype(object)[:, None]
    encoder = SamplingBayesianEncoder(random_state=0).fit(X, y)
    embedding = PosteriorEmbedding(encoder)
    codes, target = embedding.codes(X), torch.tensor(y)
    drawn = np.stack([embedding(codes, target).numpy()[:, 0] for _ in range(200)])
    column = encoder.encoding_.columns[0]
    usually = column.slot_priors.centre
    wanted = column.family.take(codes[:, 0].numpy()).leave_out(y, np.ones(400)).centre - usually
    np.testing.assert_allclose(drawn.mean(axis=0), wanted, atol=0.05)
    np.testing.assert_allclose(drawn[0].std(), (encoder.fit_transform(X, y) - usual).std(), rtol=0.1)


def test_weights_are_left_out_with_the_target():
    random = np.random.default_rng(0)
    X, y, weight = [["a"]] * 40, random.integers(0, 2, 40), random.uniform(0.5, 1.0, 40)
    encoder = SamplingBayesianEncoder(prior=Scaled(1e-3), random_state=0).fit(X, y, weight)
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match="give the weight of each row"):
        embedding(embedding.codes(X), torch.tensor(y))
    posterior = encoder.encoding_.columns[0].family.take([0] * 40)
    draws = [embedding(embedding.codes(X), torch.tensor(y), torch.tensor(weight)).numpy()[:, 0] for _ in range(4000)]
    np.testing.assert_allclose(np.mean(draws, axis=0), posterior.leave_out(y, weight).mean()[:, 0], atol=0.006)


def test_draws_that_hide_nothing_refuse_the_target():
    encoder, X, y = make_encoder("bernoulli", temperature=0.1)
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match="do not hide that a target was taken out"):
        embedding(embedding.codes(X), torch.tensor(y))


def test_fitting_the_encoder_again_does_not_change_the_layer():
    encoder, X, _ = make_encoder("bernoulli")
    embedding = PosteriorEmbedding(encoder).eval()
    before = embedding(embedding.codes(X))
    encoder.fit(X[::-1, ::-1], np.arange(len(X)) % 2)
    torch.testing.assert_close(embedding(embedding.codes(X)), before)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "poisson", "negative_binomial"])
def test_tiny_parameters_give_finite_draws(family):
    encoder, _, _ = make_encoder(family)
    embedding = PosteriorEmbedding(encoder).float()
    with torch.no_grad():
        for name, buffer in embedding.named_buffers():
            if name.startswith(("posterior_alpha", "posterior_centre")):
                buffer.fill_(1e-6)
    assert np.isfinite(repeat(embedding, 0, 1000)).all()


def test_what_it_cannot_do_is_refused():
    encoder, _, _ = make_encoder("bernoulli", "mean_precision")
    with pytest.raises(InputError, match="not MeanPrecision"):
        PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match="expected a fitted SamplingBayesianEncoder"):
        PosteriorEmbedding(SamplingBayesianEncoder())
    encoder, X, y = make_encoder("bernoulli")
    embedding = PosteriorEmbedding(encoder)
    with pytest.raises(InputError, match=r"codes has shape \(60, 1\): expected \(n_rows, 2\)"):
        embedding(embedding.codes(X)[:, :1])
    with pytest.raises(InputError, match="expected class numbers from 0 to 1"):
        embedding(embedding.codes(X), torch.tensor(y) + 5)
    with pytest.raises(InputError, match="eval_draws=0"):
        PosteriorEmbedding(encoder, eval_draws=0)
    assert embedding(embedding.codes(X), torch.tensor(y)[:, None]).shape == (60, 2)  # as losses want their targets


@pytest.mark.parametrize("family", ["bernoulli", "normal", "poisson", "negative_binomial", "categorical"])
def test_rows_in_a_hierarchy_are_drawn_as_the_encoder_draws_them(family):
    random = np.random.default_rng(0)
    child = np.repeat(np.arange(120), random.choice([1, 3, 9], 120))
    X = np.stack([child // 30, child], axis=1)
    rate = np.array([0.2, 0.4, 0.6, 0.8])[child // 30]
    y = {
        "bernoulli": lambda: random.binomial(1, rate),
        "normal": lambda: random.normal(rate),
        "poisson": lambda: random.poisson(rate),
        "negative_binomial": lambda: random.negative_binomial(2.0, 2.0 / (2.0 + rate)),
        "categorical": lambda: random.binomial(2, rate),
    }[family]()
    encoder = SamplingBayesianEncoder([1], kinds={1: Nested([0])}, family=family, random_state=0)
    draws = encoder.fit_draws(X, y)
    embedding = PosteriorEmbedding(encoder)
    codes = embedding.codes(X)
    torch.manual_seed(0)
    mine = np.stack([embedding(codes, torch.as_tensor(y)).detach().numpy()[:, 0] for _ in range(300)])
    theirs = np.stack([draws.features(k)[:, 1] for k in range(300)]).astype(float)
    if family == "normal":
        theirs = theirs - encoder.transform([[99, 999]])[0, 1]
    spread = theirs.std(axis=0)
    assert np.abs((mine.mean(axis=0) - theirs.mean(axis=0)) / spread).max() < 0.4
    np.testing.assert_allclose(mine.std(axis=0), spread, rtol=0.3)
    assert (spread > 0).all()  # rows that are alone too


def test_a_strategy_that_needs_all_rows_is_refused_in_training():
    encoder, X, y = make_encoder("normal", own_target="ordered")
    embedding = PosteriorEmbedding(encoder).train()
    with pytest.raises(InputError, match="needs all rows together"):
        embedding(embedding.codes(X), torch.tensor(y))


def test_no_rows_have_no_draws():
    encoder, X, y = make_encoder("normal", temperature=1.0)
    embedding = PosteriorEmbedding(encoder).train()
    assert embedding(embedding.codes(X)[:0], torch.tensor(y)[:0]).shape == (0, 2)
