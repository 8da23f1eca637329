"""What layers and losses promise, without another library: shapes, states, dropout between layers, refused shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lento
import numpy as np
import pytest
from arrays import array
from lento import nn

# --- losses refuse shapes that only broadcast ---

ELEMENTWISE: dict[str, Callable[[Any, Any], Any]] = {
    "mse_loss": nn.mse_loss,
    "l1_loss": nn.l1_loss,
    "smooth_l1_loss": nn.smooth_l1_loss,
    "huber_loss": nn.huber_loss,
    "binary_cross_entropy": nn.binary_cross_entropy,
    "binary_cross_entropy_with_logits": nn.binary_cross_entropy_with_logits,
    "kl_div": nn.kl_div,
    "hinge_embedding_loss": nn.hinge_embedding_loss,
    "soft_margin_loss": nn.soft_margin_loss,
    "poisson_nll_loss": nn.poisson_nll_loss,
    "multilabel_soft_margin_loss": nn.multilabel_soft_margin_loss,
    "gaussian_nll_loss": lambda x, t: nn.gaussian_nll_loss(x, t, lento.ones_like(x)),
    "margin_ranking_loss": lambda x, t: nn.margin_ranking_loss(x, x, t),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_loss_refuses_a_target_that_only_broadcasts_and_says_what_to_write(name: str) -> None:
    loss = ELEMENTWISE[name]
    with pytest.raises(
        lento.errors.ShapeError, match=rf"^{name}: the target has shape \(8,\), but .* \(8, 1\)"
    ) as raised:
        loss(lento.full((8, 1), 0.5), lento.full(8, 0.5))
    assert "write reshape(target, (8, 1)) if it has the same elements" in str(raised.value)
    with pytest.raises(lento.errors.ShapeError) as raised:
        loss(lento.full((8, 3), 0.5), lento.full(3, 0.5))
    assert "write broadcast_to(target, (8, 3)) if it is to be repeated" in str(raised.value)
    with pytest.raises(lento.errors.ShapeError) as raised:
        loss(lento.full((8, 3), 0.5), lento.full((7, 3), 0.5))
    assert "write" not in str(raised.value)
    x, t = lento.full((8, 1), 0.5), lento.full(8, 0.5)
    assert np.isfinite(float(loss(x, lento.reshape(t, (8, 1)))))


def test_losses_of_vectors_refuse_shapes_that_only_broadcast() -> None:
    x, row, one = lento.ones((8, 3)), lento.ones((1, 3)), lento.ones(1)
    with pytest.raises(
        lento.errors.ShapeError, match=r"^triplet_margin_loss: positive has shape \(1, 3\), but the anchor"
    ):
        nn.triplet_margin_loss(x, row, x)
    with pytest.raises(
        lento.errors.ShapeError, match=r"^triplet_margin_loss: negative .* broadcast_to\(negative, \(8, 3"
    ):
        nn.triplet_margin_loss(x, x, lento.ones(3))
    with pytest.raises(lento.errors.ShapeError, match=r"^cosine_embedding_loss: x2 has shape \(1, 3\), but x1 has"):
        nn.cosine_embedding_loss(x, row, lento.ones(8))
    with pytest.raises(
        lento.errors.ShapeError, match=r"^cosine_embedding_loss: the target has shape \(1,\), .* \(8,\)"
    ):
        nn.cosine_embedding_loss(x, x, one)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (1, 1), (1, 8, 3)])
def test_gaussian_nll_loss_refuses_a_variance_that_only_broadcasts(shape: tuple[int, ...]) -> None:
    x = lento.ones((8, 3))
    with pytest.raises(lento.errors.ShapeError, match=r"^gaussian_nll_loss: var has shape .* \(8, 3\)"):
        nn.gaussian_nll_loss(x, x, lento.ones(shape))


@pytest.mark.parametrize("shape", [(8, 3), (8, 1), (8,)])
def test_gaussian_nll_loss_takes_a_variance_for_each_element_or_each_vector(shape: tuple[int, ...]) -> None:
    x = lento.ones((8, 3))
    assert nn.gaussian_nll_loss(x, x, lento.ones(shape), reduction="none").shape == (8, 3)


# --- losses as modules ---


def test_class_weights_are_a_buffer_that_is_not_trained() -> None:
    weights = lento.asarray([1.0, 2.0, 3.0])
    loss = nn.CrossEntropyLoss(weights)
    assert list(loss.state_dict()) == ["weight"]
    assert not loss.parameters()
    assert not nn.CrossEntropyLoss().state_dict()
    x, target = lento.asarray(array(4, 3)), lento.asarray([0, 2, 1, 1])
    assert float(loss(x, target)) == float(nn.cross_entropy(x, target, weights))
    assert nn.CrossEntropyLoss([1.0, 2.0, 3.0]).weight.tolist() == [1, 2, 3]  # type: ignore[arg-type]


# --- CTC ---


def test_ctc_loss_of_a_target_that_does_not_fit_is_infinite_or_zero() -> None:
    log_probs = nn.log_softmax(lento.asarray(array(3, 2, 4)))
    targets, inputs, lengths = lento.asarray([[1, 1, 2], [1, 2, 3]]), lento.asarray([3, 3]), lento.asarray([3, 3])
    losses = nn.ctc_loss(log_probs, targets, inputs, lengths, reduction="none")
    assert np.isinf(losses.numpy()).tolist() == [True, False]  # a blank stands between the two ones
    loss = nn.CTCLoss(reduction="none", zero_infinity=True)
    assert float(loss(log_probs, targets, inputs, lengths)[0]) == 0
    gradient = lento.grad(lambda x: loss(x, targets, inputs, lengths).sum())(log_probs).numpy()
    assert np.isfinite(gradient).all()
    assert not gradient[:, 0].any()


def test_ctc_loss_of_an_input_of_length_0_fits_the_empty_target_alone() -> None:
    log_probs = nn.log_softmax(lento.asarray(array(3, 2, 4)))
    targets, inputs, lengths = lento.asarray([[1, 2], [1, 2]]), lento.asarray([0, 0]), lento.asarray([0, 1])
    assert nn.ctc_loss(log_probs, targets, inputs, lengths, reduction="none").tolist() == [0, np.inf]
    loss = nn.CTCLoss(reduction="none", zero_infinity=True)
    assert loss(log_probs, targets, inputs, lengths).tolist() == [0, 0]
    gradient = lento.grad(lambda x: loss(x, targets, inputs, lengths).sum())(log_probs)
    assert not gradient.numpy().any()


def test_ctc_loss_takes_an_input_length_above_the_time_as_the_time() -> None:
    log_probs = nn.log_softmax(lento.asarray(array(3, 1, 4)))
    targets, lengths = lento.asarray([[1, 2]]), lento.asarray([2])
    above, all_of_it = (nn.ctc_loss(log_probs, targets, lento.asarray([n]), lengths) for n in (9, 3))
    assert float(above) == float(all_of_it)
    assert np.isinf(float(nn.ctc_loss(log_probs, targets, lento.asarray([3]), lento.asarray([3]))))


def test_ctc_loss_does_not_look_at_the_padding() -> None:
    log_probs = nn.log_softmax(lento.asarray(array(6, 1, 4)))
    short = nn.ctc_loss(log_probs[:4], lento.asarray([[1, 2]]), lento.asarray([4]), lento.asarray([2]))
    long = nn.ctc_loss(log_probs, lento.asarray([[1, 2, -1, 99]]), lento.asarray([4]), lento.asarray([2]))
    assert float(short) == pytest.approx(float(long), rel=1e-6)


def test_ctc_loss_refuses_targets_one_after_the_other() -> None:
    with pytest.raises(lento.errors.ShapeError, match=r"targets must be \(batch, length\) .* padded"):
        nn.ctc_loss(lento.zeros((6, 2, 4)), lento.asarray([1, 2, 3]), lento.asarray([6, 6]), lento.asarray([2, 1]))


# --- recurrent layers ---


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_cell_is_a_step_of_the_layer(kind: str) -> None:
    layer, cell = getattr(nn, kind)(3, 4), getattr(nn, kind + "Cell")(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = lento.asarray(array(5, 2, 3))
    outputs, last = layer(x)
    state = None
    for i in range(5):
        state = cell(x[i], state)
        h = state[0] if kind == "LSTM" else state
        np.testing.assert_allclose(h.numpy(), outputs[i].numpy(), rtol=1e-6, atol=1e-7)
    if kind == "LSTM":
        np.testing.assert_allclose(state[1].numpy(), last[1][0].numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:.*has no effect with num_layers=1")
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_dropout_is_between_layers_and_in_training_only(kind: str) -> None:
    make = getattr(nn, kind)
    x = lento.asarray(array(6, 2, 3))
    lento.random.seed(0)
    layer = make(3, 4, 2, dropout=0.5)
    plain = make(3, 4, 2)
    plain.load_state_dict(layer.state_dict())
    assert (layer(x)[0] != layer(x)[0]).any()
    assert (layer.eval()(x)[0] == plain(x)[0]).all()
    single = make(3, 4, dropout=0.5)  # the last layer has no dropout
    assert (single(x)[0] == single(x)[0]).all()
    # What comes out of dropout 1 is 0, so that the second layer sees no input.
    closed = make(3, 4, 2, dropout=1.0)
    assert (closed(x)[0] == closed(lento.zeros_like(x))[0]).all()


def test_a_relu_network_does_not_forget_its_nonlinearity() -> None:
    net = nn.RNN(3, 4, 1, "relu")
    y, _ = net(lento.asarray(array(5, 2, 3)))
    assert (y >= 0).all()
    assert "nonlinearity=relu" in repr(net)


# --- norms ---


def test_instance_norm_counts_batches_only_where_it_averages_over_them() -> None:
    x = lento.asarray(array(4, 3, 5))
    for momentum, counted in ((0.1, 0), (None, 2)):
        norm = nn.InstanceNorm1d(3, momentum=momentum, track_running_stats=True)
        norm(x)
        norm(x)
        assert int(norm.num_batches_tracked) == counted
    np.testing.assert_allclose(norm.running_mean.numpy(), x.numpy().mean((0, 2)), rtol=1e-5, atol=1e-6)


def test_instance_norm_takes_one_sample_and_refuses_other_channels() -> None:
    norm = nn.InstanceNorm2d(3)
    x = lento.asarray(array(2, 3, 5, 4))
    y = norm(x)
    np.testing.assert_allclose(y.mean(axis=(2, 3)).numpy(), 0, atol=1e-6)
    np.testing.assert_allclose(norm(x[1]).numpy(), y[1].numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(lento.errors.ShapeError, match="InstanceNorm2d"):
        norm(x[:, :2])
    assert not norm.state_dict()


def test_a_norm_without_running_statistics_uses_those_of_the_batch() -> None:
    norm = nn.BatchNorm2d(3, track_running_stats=False)
    assert list(norm.state_dict()) == ["weight", "bias"]
    x = lento.asarray(array(2, 3, 5, 4))
    assert (norm(x) == norm.eval()(x)).all()


# --- transposed convolutions ---


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_transposed_convolution_undoes_the_shape_of_a_convolution(axes: int) -> None:
    shape = (2, 4, 9, 8, 7)[: axes + 2]
    forth = getattr(nn, f"Conv{axes}d")(4, 6, 3, stride=2, padding=1, groups=2)
    size = forth(lento.zeros(shape)).shape
    back = getattr(nn, f"ConvTranspose{axes}d")(6, 4, 3, stride=2, padding=1, groups=2)
    # A stride hides whether a length was odd: even ones need one element more.
    extra = [(1 - n % 2) for n in shape[2:]]
    back.output_padding = extra
    assert back(lento.zeros(size)).shape == shape


def test_a_transposed_convolution_is_the_adjoint_of_the_convolution() -> None:
    forth = nn.Conv2d(3, 4, 3, stride=2, bias=False)
    back = nn.ConvTranspose2d(4, 3, 3, stride=2, bias=False)
    back.weight = forth.weight
    x, y = lento.asarray(array(1, 3, 7, 9)), lento.asarray(array(1, 4, 3, 4, seed=1))
    assert float((forth(x) * y).sum()) == pytest.approx(float((x * back(y)).sum()), rel=1e-4)


# --- what layers are given ---


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.MaxPool2d("2"), "MaxPool2d(): kernel_size is a whole number or a list of them, not a str"),
        (lambda: nn.LeakyReLU("0.1"), "LeakyReLU(): negative_slope is a number, not a str"),
        (lambda: nn.Linear(3, 4, bias="no"), "Linear(): bias is True or False, not a str"),
        (lambda: nn.Conv2d(3, 4, 3, padding=1.5), "Conv2d(): padding is a whole number, a list of them, 'same' or"),
        (lambda: nn.Upsample(scale_factor=["2"]), "Upsample(): scale_factor is a number or a list of them, not a list"),
    ],
)
def test_a_layer_says_what_an_argument_is(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value).startswith(message)


def test_layers_take_the_numbers_of_numpy() -> None:
    assert nn.MaxPool2d(np.int64(2), [np.int32(1), 1]).kernel_size == 2
    assert nn.Linear(np.int64(3), 4, bias=np.bool_(False)).bias is None
    assert nn.LeakyReLU(np.float32(0.5)).negative_slope == 0.5
    assert nn.AvgPool2d(2, None).stride is None


def test_padding_is_in_the_order_of_torch() -> None:
    x = lento.asarray(array(1, 2, 3, 4))
    y = nn.ConstantPad2d((1, 2, 0, 3), 7.0)(x)
    assert y.shape == (1, 2, 6, 7)
    expected = np.pad(x.numpy(), ((0, 0), (0, 0), (0, 3), (1, 2)), constant_values=7)
    np.testing.assert_array_equal(y.numpy(), expected)
    with pytest.raises(ValueError, match=r"^pad: the padding of float32\(1, 2, 3, 4\) has pairs"):
        nn.pad(x, [1, 2, 3])


@pytest.mark.parametrize(
    "text",
    ["ReLU(True)", "SiLU(inplace=True)", "LeakyReLU(0.2, True)", "Threshold(0.5, 0.0, True)", "Dropout(0.5, True)"]
    + [f"Dropout{axes}d(inplace=True)" for axes in (1, 2, 3)],
)
def test_inplace_is_taken_and_leaves_the_input_alone(text: str) -> None:
    x = array(2, 3, 4, 5, 6) if text.startswith("Dropout3d") else array(2, 3, 4)
    given = lento.asarray(x)
    layer = eval(f"nn.{text}", {"nn": nn})
    assert not lento.array_equal(layer(given), x)
    np.testing.assert_array_equal(given.numpy(), x)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_dropout_of_one_recurrent_layer_warns(kind: str) -> None:
    with pytest.warns(UserWarning, match=rf"{kind}\(\): dropout=0.5 has no effect with num_layers=1") as caught:
        getattr(nn, kind)(2, 3, dropout=0.5)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(nn, kind)(2, 3, 2, dropout=0.5)


LAYERS = [name for name, kind in vars(nn).items() if isinstance(kind, type) and issubclass(kind, nn.Module)]


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ("Module", "Identity")])
def test_an_unknown_argument_is_said_of_the_layer(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\) "):
        getattr(nn, name)(no_such_argument=2)
