"""Derivatives where formulas have corners, ties and divisions by zero that the functions themselves do not have, or
where a subgradient is meant. Expected values are analytic."""

from __future__ import annotations

from collections.abc import Callable

import lento
import numpy as np
import pytest
from lento import nn

Function = Callable[[lento.Tensor], lento.Tensor]


def t(*values: float) -> lento.Tensor:
    return lento.asarray(np.array(values, np.float64))


def slope(f: Function, x: lento.Tensor) -> np.ndarray:
    return lento.grad(lambda x: f(x).sum())(x).numpy()


def curvature(f: Function, x: lento.Tensor) -> np.ndarray:
    """The Hessian of the sum times a vector of ones."""
    return lento.grad(lambda x: lento.grad(lambda x: f(x).sum())(x).sum())(x).numpy()


# --- where branches meet ---


@pytest.mark.parametrize(
    "f,at,expected",
    [
        (nn.elu, 0, 1),
        (nn.celu, 0, 1),
        (nn.selu, 0, 1.0507009873554805 * 1.6732632423543772),
        (lento.special.log_ndtr, -1, 1.5251352761609812),
        (lambda x: lento.special.xlogy(x, t(2)), 0, np.log(2)),
        (lambda x: lento.special.xlogy(x, t(0)), 0, 0),
        (lambda x: lento.special.xlogy(t(0), x), 0, 0),
        (lambda x: lento.special.xlog1py(x, t(2)), 0, np.log(3)),
        (lambda x: lento.special.xlog1py(x, t(-1)), 0, 0),
        (lento.sinc, 0, 0),
    ],
    ids=["elu", "celu", "selu", "log_ndtr", "xlogy", "xlogy-0-0", "xlogy-y", "xlog1py", "xlog1py-edge", "sinc"],
)
def test_first_derivatives_where_branches_meet(f: Function, at: float, expected: float) -> None:
    np.testing.assert_allclose(slope(f, t(at)), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    "f,at,expected",
    [
        (nn.softplus, 0, 0.25),
        (nn.logsigmoid, 0, -0.25),
        (lambda x: nn.binary_cross_entropy_with_logits(x, t(0.3)), 0, 0.25),
        (lambda x: nn.soft_margin_loss(x, t(1)), 0, 0.25),
        (lambda x: nn.huber_loss(x, t(0)), 0, 1),
        (lambda x: nn.smooth_l1_loss(x, t(0)), 0, 1),
        (lento.sinc, 0, -(np.pi**2) / 3),
        (lento.sinc, 1e-7, -(np.pi**2) / 3),
    ],
    ids=["softplus", "logsigmoid", "bce", "soft_margin", "huber", "smooth_l1", "sinc", "sinc-near-0"],
)
def test_second_derivatives_where_branches_meet(f: Function, at: float, expected: float) -> None:
    np.testing.assert_allclose(curvature(f, t(at)), [expected], rtol=1e-9)


def test_second_derivatives_of_norms_and_products_with_zeros() -> None:
    # (I / r - x xᵀ / r³) 1 with r² = 5
    x = np.array([0.0, 1, -2])
    expected = 1 / np.sqrt(5) - x * x.sum() / 5**1.5
    np.testing.assert_allclose(curvature(lento.linalg.vector_norm, t(*x)), expected, rtol=1e-12)
    # x0 + 2 x0 x1 + 3 x0 x1 x2
    weighted = lambda x: lento.cumulative_prod(x) * t(1, 2, 3)  # noqa: E731
    np.testing.assert_allclose(slope(weighted, t(0, 2, 3)), [23, 0, 0])
    np.testing.assert_allclose(curvature(weighted, t(0, 2, 3)), [17, 11, 6])
    np.testing.assert_allclose(curvature(lento.prod, t(0, 0, 3)), [3, 3, 0])


@pytest.mark.parametrize("length", [1, 2, 5, 8, 33])
def test_running_products_of_every_length(length: int) -> None:
    rng = np.random.default_rng(length)
    x, weights = rng.normal(size=length), rng.normal(size=length)
    x[length // 2] = 0
    expected = [sum(weights[j] * np.prod(np.delete(x[: j + 1], i)) for j in range(i, length)) for i in range(length)]
    actual = slope(lambda x: lento.cumulative_prod(x) * lento.asarray(weights), lento.asarray(x))
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", [lento.sign, nn.softshrink, lambda x: x**0], ids=["sign", "softshrink", "power-0"])
def test_forward_mode_of_what_is_flat_at_zero(f: Function) -> None:
    assert lento.jvp(f, (t(0),), (t(1),))[1].tolist() == [0]


# --- subgradients instead of nan ---


@pytest.mark.parametrize(
    "f",
    [
        lento.linalg.vector_norm,
        lambda x: lento.linalg.vector_norm(x, ord=3),
        lambda x: lento.std(x + 1),
        lambda x: nn.lp_pool1d(x.reshape((1, 1, 4)), 2.0, 2),
        lambda x: nn.cdist(x.reshape((2, 2)), lento.zeros((2, 2), dtype=lento.float64)),
        lambda x: nn.cosine_similarity(x.reshape((2, 2)), lento.zeros((2, 2), dtype=lento.float64)),
        lambda x: lento.hypot(x, x),
        lambda x: lento.atan2(x, x),
    ],
    ids=["norm", "norm3", "std", "lp_pool", "cdist", "cosine", "hypot", "atan2"],
)
def test_roots_have_the_subgradient_zero_at_zero(f: Function) -> None:
    np.testing.assert_array_equal(slope(f, t(0, 0, 0, 0)), np.zeros(4))


def test_a_normalised_zero_grows_by_the_bound() -> None:
    np.testing.assert_allclose(slope(lambda x: nn.normalize(x, axis=0), t(0, 0)), [1e12, 1e12])


EQUAL = np.eye(2)


@pytest.mark.parametrize(
    "f,x,expected",
    [
        (lento.linalg.eigvalsh, EQUAL, EQUAL),
        (lento.linalg.svdvals, EQUAL, EQUAL),
        (lambda x: lento.linalg.matrix_norm(x, ord="nuc"), EQUAL, EQUAL),
        (lambda x: lento.linalg.matrix_norm(x, ord=2), EQUAL, EQUAL / 2),
        (lento.linalg.matrix_exp, np.zeros((2, 2)), np.ones((2, 2))),
    ],
    ids=["eigvalsh", "svdvals", "nuclear", "spectral", "matrix_exp"],
)
def test_equal_values_have_derivatives(f: Function, x: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(slope(f, lento.asarray(x)), expected, atol=1e-12)


@pytest.mark.parametrize("p,target,expected", [(0, 0, 1), (1, 1, -1), (0, 1, 0), (1, 0, 0), (0.25, 1, -4)], ids=str)
def test_certain_probabilities(p: float, target: float, expected: float) -> None:
    """The loss is bounded by 100, and constant from there on."""
    loss = lambda x: nn.binary_cross_entropy(x, t(target))  # noqa: E731
    assert loss(t(p)).item() == pytest.approx(100 if abs(p - target) == 1 else -np.log(1 - abs(p - target)))
    np.testing.assert_allclose(slope(loss, t(p)), [expected])


@pytest.mark.parametrize("values,expected", [([0, 5], [15, 0]), ([0, 0], [0, 0]), ([2, 5], [15, 6])], ids=str)
def test_scattered_products_with_zeros(values: list[float], expected: list[float]) -> None:
    scattered = lambda v: lento.scatter_reduce(t(3), 0, lento.asarray([0, 0]), v, "prod")  # noqa: E731
    np.testing.assert_array_equal(slope(scattered, t(*values)), expected)


# --- what is not to be trained ---


@pytest.mark.parametrize("padding", [1, -2])
def test_the_padding_row_is_not_trained(padding: int) -> None:
    rows = lento.asarray([[0, 1], [1, 2]])
    weight = lento.ones((3, 2))
    gradient = lento.grad(lambda w: nn.embedding(rows, w, padding_idx=padding).sum())(weight)
    assert gradient.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert nn.embedding(rows, weight, padding_idx=padding).tolist() == [[[1, 1]] * 2] * 2


def test_detach_is_stop_gradient() -> None:
    assert slope(lambda x: x * lento.detach(x), t(3)).tolist() == [3]
    assert lento.detach(t(1, 2)).tolist() == [1, 2]
    assert slope(lambda x: x * x.detach(), t(3)).tolist() == [3]
    assert t(1, 2).detach().tolist() == [1, 2]


@pytest.mark.parametrize("size", [1e-23, 1e-4, 1.0, 1e20], ids=str)
def test_atan2_of_numbers_whose_squares_are_no_numbers(size: float) -> None:
    y, x = lento.asarray(size, dtype=lento.float32), lento.asarray(2 * size, dtype=lento.float32)
    np.testing.assert_allclose(lento.grad(lento.atan2)(y, x).item(), 2 / (5 * size), rtol=1e-5)


def test_padding_of_an_embedding_need_not_fit_the_row_numbers() -> None:
    rows = nn.embedding(lento.asarray([1], dtype=lento.int8), lento.ones((200, 2)), padding_idx=-1)
    assert rows.tolist() == [[1, 1]]


# --- powers that are no numbers ---


@pytest.mark.parametrize("size", [1e-30, 1e-15, 1.0, 1e30], ids=str)
@pytest.mark.parametrize("order", [2, 3, 0.5, -1, -2])
def test_norms_of_numbers_whose_powers_are_no_numbers(order: float, size: float) -> None:
    x = np.array([3.0, -4.0, 1.0]) * size
    expected = np.sign(x) * (np.abs(x) / size / np.sum(np.abs(x / size) ** order) ** (1 / order)) ** (order - 1)
    found = lento.grad(lambda x: lento.linalg.vector_norm(x, ord=order))(lento.asarray(x, dtype=lento.float32))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_norms_of_complex_numbers_whose_squares_are_no_numbers() -> None:
    z = np.array([3e-30, 4e-30j], np.complex64)
    np.testing.assert_allclose(lento.grad(lento.linalg.vector_norm)(lento.asarray(z)).numpy(), [0.6, 0.8j], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30], ids=str)
def test_deviations_of_numbers_whose_squares_are_no_numbers(size: float) -> None:
    x = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 1.0]])
    centred = x - x.mean(1, keepdims=True)
    expected = centred / x.std(1, ddof=1, keepdims=True) / 2
    given = lento.asarray(x * size, dtype=lento.float32)
    for f in (lambda x: lento.std(x, axis=1, correction=1), lambda x: lento.std_mean(x, axis=1, correction=1)[0]):
        np.testing.assert_allclose(lento.grad(lambda x, f=f: f(x).sum())(given).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("order", [-1, -2, -0.5])
def test_negative_norms_with_a_zero(order: float) -> None:
    """As torch: the derivative is 0 everywhere."""
    np.testing.assert_array_equal(slope(lambda x: lento.linalg.vector_norm(x, ord=order), t(0, 2, -3)), [0, 0, 0])


@pytest.mark.parametrize("loss", [nn.smooth_l1_loss, nn.huber_loss])
def test_robust_losses_at_infinity(loss: Callable[..., lento.Tensor]) -> None:
    f = lambda x: loss(x, t(0, 0, 0), reduction="sum")  # noqa: E731
    np.testing.assert_array_equal(slope(f, t(np.inf, -np.inf, 0.5)), [1, -1, 0.5])
    np.testing.assert_array_equal(curvature(f, t(np.inf, -np.inf, 0.5)), [0, 0, 1])


def test_running_products_that_overflow() -> None:
    # A zero in front: what follows it cannot change anything.
    np.testing.assert_array_equal(slope(lento.cumulative_prod, t(0, *[1e200] * 5))[1:], np.zeros(5))
    # The products of five are infinite, and so is the derivative, but not undefined.
    np.testing.assert_array_equal(slope(lento.cumulative_prod, t(*[1e200] * 5)), [np.inf] * 5)


@pytest.mark.parametrize(
    "values,expected",
    [
        ((1e200, 1e200, 1e200), [[1, 0, 0], [1e200, 1e200, 0], [np.inf, np.inf, np.inf]]),
        ((0, 1e200, 1e200, 1e200), [[1, 0, 0, 0], [1e200, 0, 0, 0], [np.inf, 0, 0, 0], [np.inf, 0, 0, 0]]),
        (
            (0, 1e200, 1e200, 1e200, 0),
            [[1, 0, 0, 0, 0], [1e200, 0, 0, 0, 0], [np.inf, 0, 0, 0, 0], [np.inf, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
        ),
    ],
    ids=str,
)
def test_a_zero_times_an_endless_product_counts_nothing(values: tuple[float, ...], expected: list[list[float]]) -> None:
    """Each element of a running product by each factor, one at a time: the others' cotangents or tangents are 0."""
    x = t(*values)
    _, pull = lento.vjp(lento.cumulative_prod, x)
    directions = [lento.asarray(row) for row in np.eye(len(values))]
    np.testing.assert_array_equal([pull(row)[0].tolist() for row in directions], expected)
    forward = [lento.jvp(lento.cumulative_prod, (x,), (row,))[1].tolist() for row in directions]
    np.testing.assert_array_equal(np.transpose(forward), expected)


# --- determinants of singular matrices ---


def cofactors(x: np.ndarray) -> np.ndarray:
    n = len(x)
    minor = lambda i, j: np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) if n > 1 else 1  # noqa: E731
    return np.array([[(-1) ** (i + j) * minor(i, j) for j in range(n)] for i in range(n)])


def of_rank(n: int, rank: int, dtype: str) -> np.ndarray:
    """Of whole numbers, so that it is exactly singular; the last rows are sums of the first."""
    rng = np.random.default_rng(n)
    x = rng.integers(-3, 4, (n, n)).astype(dtype)
    if dtype == "complex128":
        x = x + 1j * rng.integers(-3, 4, (n, n))
    for row in range(rank, n):
        x[row] = x[:rank].sum(0) if row == rank else 0
    return x


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n,rank", [(1, 0), (2, 1), (2, 0), (3, 2), (3, 1), (4, 4), (4, 3), (4, 2), (6, 5), (6, 6)])
def test_the_derivative_of_a_determinant_is_the_matrix_of_cofactors(n: int, rank: int, dtype: str) -> None:
    x = of_rank(n, rank, dtype)
    found = lento.grad(lambda x: lento.real(lento.linalg.det(x)))(lento.asarray(x))
    np.testing.assert_allclose(found.numpy(), np.conj(cofactors(x)), rtol=1e-9, atol=1e-9)


def test_determinants_of_regular_and_singular_matrices_in_a_batch() -> None:
    x = np.stack([of_rank(4, 4, "float64"), of_rank(4, 3, "float64"), np.eye(4), np.zeros((4, 4))])
    expected = np.stack([cofactors(each) for each in x])
    np.testing.assert_allclose(slope(lento.linalg.det, lento.asarray(x)), expected, atol=1e-9)
    np.testing.assert_allclose(slope(lento.vmap(lento.linalg.det), lento.asarray(x)), expected, atol=1e-9)


@pytest.mark.parametrize("n,rank", [(2, 1), (3, 2), (3, 1), (4, 4), (5, 4)])
def test_second_derivatives_of_determinants(n: int, rank: int) -> None:
    x = of_rank(n, rank, "float64")
    step = 1e-5 * np.random.default_rng(0).normal(size=(n, n))
    _, change = lento.jvp(lento.grad(lento.linalg.det), (lento.asarray(x),), (lento.asarray(step),))
    expected = (cofactors(x + step) - cofactors(x - step)) / 2
    np.testing.assert_allclose(change.numpy() / 1e-5, expected / 1e-5, rtol=1e-5, atol=1e-5)


def second_derivatives(x: np.ndarray) -> np.ndarray:
    """Of the determinant by A_ij and A_kl: what is left without rows i and k and columns j and l, signed."""
    n = len(x)
    found = np.zeros((n, n, n, n), x.dtype)
    for i, j, k, l in np.ndindex(*found.shape):
        if i == k or j == l:
            continue
        sign = (-1) ** (i + j + k + l) * (1 if (i < k) == (j < l) else -1)
        found[i, j, k, l] = sign * np.linalg.det(np.delete(np.delete(x, [i, k], 0), [j, l], 1))
    return found


def test_the_expected_second_derivatives_are_those_by_hand() -> None:
    one = np.eye(4)
    by_hand = np.einsum("ij,kl->ijkl", one, one) - np.einsum("il,kj->ijkl", one, one)
    np.testing.assert_array_equal(second_derivatives(one), by_hand)
    np.testing.assert_array_equal(second_derivatives(2 * one), 4 * by_hand)


REGULAR = [(1, 1, 1, 1), (2, 2, 2, 2), (-1, 3, 1, 1), (1, 1, 1, 1, 1)]
SINGULAR = [(1, 1, 1, 0), (2, 2, 0, 1, 2), (1, 1, 0, 0), (0, 2, 1, 0), (1, 0, 1, 1, 0), (1, 0, 0, 0), (0, 0, 0, 0)]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("values", [*REGULAR, *SINGULAR], ids=str)
def test_second_derivatives_of_determinants_with_equal_singular_values(values: tuple[float, ...], dtype: str) -> None:
    n = len(values)
    rng = np.random.default_rng(n)
    noise = rng.normal(size=(2, n, n))
    if dtype == "complex128":
        noise = noise + 1j * rng.normal(size=(2, n, n))
    turn, other = np.linalg.qr(noise)[0]
    # As it is, so that the values are exactly equal, and turned, so that they are except for rounding.
    for x in (np.diag(values).astype(dtype), turn @ np.diag(values) @ other):
        expected = second_derivatives(x)
        det = lambda x: lento.real(lento.linalg.det(x))  # noqa: E731
        _, pull = lento.vjp(lento.grad(det), lento.asarray(x))
        for i, j in np.ndindex(n, n):
            one = np.zeros((n, n), dtype)
            one[i, j] = 1
            _, forward = lento.jvp(lento.grad(det), (lento.asarray(x),), (lento.asarray(one),))
            np.testing.assert_allclose(forward.numpy(), np.conj(expected[i, j]), atol=1e-12)
            np.testing.assert_allclose(pull(lento.asarray(one))[0].numpy(), np.conj(expected[i, j]), atol=1e-12)


@pytest.mark.parametrize("least", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-15, 1e-16])
def test_second_and_third_derivatives_of_determinants_close_to_zero(least: float) -> None:
    """Of the second, at least half of the digits are right. Of the third too, except for the twilight around the square
    root of the precision."""
    turn, other = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 4, 4)))[0]
    x = turn @ np.diag([3, 2, 1, least]) @ other
    a, b, c = np.random.default_rng(1).normal(size=(3, 4, 4))

    def second(x: lento.Tensor) -> lento.Tensor:
        return lento.jvp(
            lambda x: lento.jvp(lento.linalg.det, (x,), (lento.asarray(a),))[1], (x,), (lento.asarray(b),)
        )[1]

    expected = lambda x: np.einsum("ijkl,ij,kl", second_derivatives(x), a, b)  # noqa: E731
    found, third = lento.jvp(second, (lento.asarray(x),), (lento.asarray(c),))
    np.testing.assert_allclose(found.item(), expected(x), rtol=1e-6)
    if not 1e-10 < least < 1e-4:
        np.testing.assert_allclose(third.item(), (expected(x + c) - expected(x - c)) / 2, rtol=1e-6)


def test_second_derivatives_of_regular_and_singular_matrices_in_a_batch() -> None:
    x = np.stack([np.eye(4), of_rank(4, 3, "float64"), np.diag([1.0, 1, 1, 0]), np.zeros((4, 4))])
    step = np.random.default_rng(0).normal(size=x.shape)
    expected = np.stack([np.einsum("ijkl,kl->ij", second_derivatives(a), b) for a, b in zip(x, step, strict=True)])
    for det in (lento.linalg.det, lento.vmap(lento.linalg.det)):
        gradient = lento.grad(lambda x, det=det: det(x).sum())
        _, change = lento.jvp(gradient, (lento.asarray(x),), (lento.asarray(step),))
        np.testing.assert_allclose(change.numpy(), expected, atol=1e-11)
    each = lento.vmap(lambda x, step: lento.jvp(lento.grad(lento.linalg.det), (x,), (step,))[1])
    np.testing.assert_allclose(each(lento.asarray(x), lento.asarray(step)).numpy(), expected, atol=1e-11)


@pytest.mark.parametrize("size", [1e-100, 1e100, 1e140])
def test_derivatives_of_determinants_that_are_no_numbers(size: float) -> None:
    """The determinant is 0 or infinite, but not what its derivatives are made of: 3 and 2 of its 4 factors."""
    x, one = np.diag([1, -2, 3, 4]), np.ones((4, 4))
    gradient = lento.grad(lento.linalg.det)
    found, change = lento.jvp(gradient, (lento.asarray(x * size),), (lento.asarray(one),))
    if size != 1e140:  # of which the cofactors are infinite as well
        np.testing.assert_allclose(found.numpy() / size / size / size, cofactors(x), atol=1e-14)
    expected = np.einsum("ijkl,kl->ij", second_derivatives(x * 1.0), one)
    _, pull = lento.vjp(gradient, lento.asarray(x * size))
    for each in (change, pull(lento.asarray(one))[0]):
        np.testing.assert_allclose(each.numpy() / size / size, expected, atol=1e-13)


def test_rows_and_columns_of_very_different_sizes() -> None:
    """Regular once they are scaled, though the last pivot is 0 as it is."""
    x = np.eye(4)
    x[2:, 2:] = [[1, 1e-200], [1e-200, 0]]
    expected = np.diag([0.0, 0, 0, 1])
    expected[2:, 2:] = [[0, -1e-200], [-1e-200, 1]]
    np.testing.assert_allclose(slope(lento.linalg.det, lento.asarray(x)), expected, rtol=1e-12, atol=1e-210)
    rows = np.random.default_rng(0).normal(size=(4, 4))
    sizes = np.array([[1e10], [1], [1e-10], [1e5]])  # each row's, so that the cofactors' are those of the others
    found = slope(lento.linalg.det, lento.asarray(rows * sizes)) / (sizes.prod() / sizes)
    np.testing.assert_allclose(found, cofactors(rows), rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [1e-23, 1e20])
def test_rows_of_different_sizes_whose_determinant_is_no_number(size: float, axis: int) -> None:
    x = np.random.default_rng(0).normal(size=(4, 4))
    sizes = np.array([size, size, 1, 1]).reshape((4, 1) if axis == 0 else (1, 4))
    x = (x * sizes).astype(np.float32)
    gradient = lento.grad(lento.linalg.det)
    with np.errstate(over="ignore"):
        expected = cofactors(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(gradient(lento.asarray(x)), expected, rtol=1e-4)
    # The second derivatives are what is left without two rows each: made equal, they are those of equal rows.
    one = np.zeros((4, 4), np.float32)
    one[0, 0] = 1
    _, change = lento.jvp(gradient, (lento.asarray(x),), (lento.asarray(one),))
    sizes_left = sizes.prod() / size / sizes
    expected = second_derivatives(x.astype(np.float64))[0, 0]
    np.testing.assert_allclose(change.numpy() / sizes_left, expected / sizes_left, atol=1e-5)


@pytest.mark.parametrize("size,dtype", [(1e-310, "float64"), (1e-40, "float32")])
def test_determinants_of_the_least_numbers(size: float, dtype: str) -> None:
    x = np.eye(4, dtype=dtype)
    small = lento.asarray(x * np.array(size, dtype))
    assert lento.linalg.det(small).item() == 0
    np.testing.assert_array_equal(slope(lento.linalg.det, small), np.zeros((4, 4)))
    x[0, 0] = size
    assert lento.linalg.det(lento.asarray(x)).item() == x[0, 0]
    np.testing.assert_allclose(slope(lento.linalg.det, lento.asarray(x)), np.diag([1, size, size, size]), rtol=1e-5)


@pytest.mark.parametrize("factor", [0.01, 0.1, 0.3])
def test_large_determinants_whose_products_leave_the_range_of_numbers_on_the_way(factor: float) -> None:
    x = (factor * np.random.default_rng(1).normal(size=(100, 100))).astype(np.float32)
    x[-1] = x[0]  # so that only the first and the last row have cofactors
    wide = x.astype(np.float64)
    wide[-1] = 0
    _, s, _ = np.linalg.svd(wide)
    size = np.exp(np.log(s[:-1]).sum())  # of the cofactors of the last row together
    found = slope(lento.linalg.det, lento.asarray(x)).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(found[-1]), size, rtol=1e-3, atol=1e-44)
    np.testing.assert_allclose(np.abs(found[1:-1]).max(), 0, atol=1e-4 * size)


@pytest.mark.parametrize("n", [4, 6, 8, 10])
def test_the_derivative_of_slogdet_is_as_exact_as_the_inverse(n: int) -> None:
    x = lento.asarray([[1 / (i + j + 1) for j in range(n)] for i in reversed(range(n))], dtype=lento.float64)
    found = slope(lambda x: lento.linalg.slogdet(x)[1], x)
    np.testing.assert_array_equal(found, lento.linalg.inv(x).numpy().T)


def test_slogdet_of_a_singular_matrix_has_no_finite_derivative() -> None:
    sign, logarithm = lento.linalg.slogdet(lento.asarray(of_rank(3, 2, "float64")))
    assert (sign.item(), logarithm.item()) == (0, -np.inf)
    found = slope(lambda x: lento.linalg.slogdet(x)[1], lento.asarray(of_rank(3, 2, "float64")))
    assert not np.isfinite(found).any()


@pytest.mark.peers
@pytest.mark.parametrize("n,rank", [(2, 1), (2, 0), (3, 3), (3, 2), (4, 4), (4, 3), (4, 2)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_slogdet_and_its_derivative_beside_torch(n: int, rank: int, dtype: str) -> None:
    """Torch divides by the zeros of a singular matrix and gives what comes out, infinities beside finite numbers that
    mean nothing; here all is nan then. Both follow the logarithm to -inf."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype == "complex128" else 0)
    x[rank:] = 0  # exactly singular, whoever rounds
    theirs = torch.tensor(x, requires_grad=True)
    sign, logarithm = torch.linalg.slogdet(theirs)
    logarithm.backward()
    found = lento.linalg.slogdet(lento.asarray(x))
    np.testing.assert_allclose(found.sign.numpy(), sign.detach().numpy(), rtol=1e-14, atol=1e-14)
    gradient = slope(lambda x: lento.linalg.slogdet(x)[1], lento.asarray(x))
    change = lento.jvp(lambda x: lento.linalg.slogdet(x)[1], (lento.asarray(x),), (lento.ones((n, n), dtype=dtype),))[1]
    if rank == n:
        np.testing.assert_allclose(found.logabsdet.numpy(), logarithm.detach().numpy(), rtol=1e-14)
        np.testing.assert_allclose(gradient, theirs.grad.numpy(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(change.numpy(), theirs.grad.sum().real.item(), rtol=1e-12, atol=1e-12)
    else:
        assert (found.logabsdet.item(), logarithm.item()) == (-np.inf, -np.inf)
        assert not np.isfinite(theirs.grad.numpy()).all()
        assert not np.isfinite(gradient).any()
        assert not np.isfinite(change.item())


# --- scattered products ---


@pytest.mark.parametrize("values", [(2, 5, 7), (0, 5, 7), (0, 0, 7), (0, 0, 0), (2, 0, 0)], ids=str)
@pytest.mark.parametrize("base", [3, 0])
def test_second_derivatives_of_scattered_products_with_zeros(base: float, values: tuple[float, ...]) -> None:
    """Of b v0 v1 and 1 v2, whose sum is differentiated."""
    rows = lento.asarray([0, 0, 1])
    f = lambda bv: lento.scatter_reduce(lento.concat([bv[:1], t(1)]), 0, rows, bv[1:], "prod")  # noqa: E731
    b, v0, v1, _ = x = np.array([base, *values], float)
    np.testing.assert_array_equal(slope(f, t(*x)), [v0 * v1, b * v1, b * v0, 1])
    np.testing.assert_allclose(curvature(f, t(*x)), [v0 + v1, v1 + b, v0 + b, 0], rtol=1e-14)
