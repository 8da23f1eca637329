"""The arguments that the backward tests of the Lazy Tensor Core try, by the name of the test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracles
from samples import OpInfo, load_catalogue

Arguments = dict[str, Any]
Cases = Callable[[np.random.Generator], Iterator[Arguments]]

OPS: dict[str, OpInfo] = {op.qualified: op for op in load_catalogue()}
CASES: dict[str, tuple[str, Cases]] = {}  # by the name of LTC's test


def covers(name: str, op: str) -> Callable[[Cases], Cases]:
    def add(cases: Cases) -> Cases:
        assert name not in CASES
        CASES[name] = (op, cases)
        return cases

    return add


def elementwise(name: str, op: str, *choices: Arguments) -> None:
    @covers(name, op)
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for choice in choices or ({},):
            yield {"x": rng.normal(size=(2, 2, 3)), **choice}


def fixed(array: Any) -> Any:
    """An array that is no subject of the derivative: a target, a weight of classes."""
    array = np.asarray(array)
    array.setflags(write=False)
    return array


# --- activations ---

elementwise("TestTanhBackward", "tanh")
elementwise("TestSigmoidBackward", "sigmoid")
elementwise("TestLogSigmoidBackward", "nn.log_sigmoid")
elementwise("TestHardSigmoidBackward", "nn.hardsigmoid")
elementwise("TestThresholdBackward", "nn.threshold", {"threshold": 0.4, "value": 20.0})
elementwise("TestSoftplusBackward", "nn.softplus", {}, {"beta": 2.0, "threshold": 0.5})
elementwise("TestReluBackward", "nn.relu")
elementwise("TestRreluBackward", "nn.rrelu", {"lower": 0.1, "upper": 0.2, "training": False})
elementwise("TestHardshrinkBackward", "nn.hardshrink", {}, {"lambd": 0.1})
elementwise("TestSoftshrinkBackward", "nn.softshrink", {}, {"lambd": 0.1})
elementwise("TestHardtanhBackward", "nn.hardtanh", {}, {"min_val": -0.2, "max_val": 0.7})
elementwise("TestEluBackward", "nn.elu", {}, {"alpha": 0.5})
elementwise("TestGeluBackward", "nn.gelu", {}, {"approximate": "tanh"})
elementwise("TestLeakyReluBackward", "nn.leaky_relu", {}, {"negative_slope": 0.3})


def softmax_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for axis in range(-4, 4):
        yield {"x": rng.normal(size=(5, 3, 4, 2)), "axis": axis}


covers("TestSoftmaxBackward", "nn.softmax")(softmax_cases)
covers("TestLogSoftmaxBackward", "nn.log_softmax")(softmax_cases)


# --- shapes and products ---


@covers("TestTransposeBackward", "linalg.matrix_transpose")
def transpose_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    yield {"x": rng.normal(size=(2, 3))}


@covers("TestViewBackward", "reshape")
def view_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    yield {"x": rng.normal(size=(8, 5, 4, 4)), "shape": (-1, 80)}


@covers("TestAddMatMulBackward", "addmm")
def addmm_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for labels in (1, 5):
        for beta in (1.0, 2.0):
            yield {
                "x": rng.normal(size=labels),
                "x1": rng.normal(size=(4, 6)),
                "x2": rng.normal(size=(6, labels)),
                "beta": beta,
                "alpha": 0.5,
            }


@covers("TestEinsumOuterBackward", "einsum")
def einsum_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    yield {"subscripts": "i,j->ij", "arrays": [rng.normal(size=5), rng.normal(size=5)]}


@covers("TestTakeBackward", "take")
def take_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for shape in ((3,), (2, 3)):
        yield {"x": rng.normal(size=(4, 4)), "indices": rng.integers(-16, 16, size=shape)}
    yield {"x": rng.normal(size=(4, 4)), "indices": np.array([1, 1, 3, 1]), "axis": 1}


@covers("TestEmbeddingBackward", "nn.embedding")
def embedding_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    yield {"x": rng.integers(0, 8, size=(3, 2)), "weight": rng.normal(size=(8, 4))}
    yield {"x": np.array([5, 5, 1, 5]), "weight": rng.normal(size=(8, 4))}


# --- padding and resizing ---


def pad_cases(shape: tuple[int, ...], mode: str, *widths: list[tuple[int, int]]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for width in widths:
            yield {"x": rng.normal(size=shape), "pad_width": [n for pair in width for n in pair], "mode": mode}

    return cases


covers("TestReflectionPad2dBackward", "pad")(
    pad_cases((2, 3, 4, 4), "reflect", [(0, 0), (0, 0), (2, 3), (1, 2)], [(0, 0), (0, 0), (1, 1), (3, 0)])
)
covers("TestReplicationPad1dBackward", "pad")(
    pad_cases((2, 3, 4), "edge", [(0, 0), (0, 0), (1, 4)], [(0, 0), (0, 0), (0, 2)])
)
covers("TestReplicationPad2dBackward", "pad")(
    pad_cases((2, 3, 4, 4), "edge", [(0, 0), (0, 0), (2, 3), (1, 4)], [(0, 0), (0, 0), (0, 1), (1, 0)])
)


@covers("TestUpsampleNearest2DBackward", "nn.upsample_nearest2d")
def nearest_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for size in ((8, 8), (7, 9), (2, 3)):
        yield {"x": rng.normal(size=(2, 3, 4, 5)), "output_size": size}


@covers("TestUpsampleNearest2DBackwardWithScale", "nn.upsample_nearest2d")
def nearest_scale_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for scale in ((2.5, 3.4), (1.0, 2.0)):
        yield {"x": rng.normal(size=(2, 3, 4, 5)), "scale_factor": scale}


@covers("TestUpsampleBilinear2DBackward", "nn.upsample_bilinear2d")
def bilinear_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for size, align in itertools.product(((8, 8), (7, 9), (2, 3)), (False, True)):
        yield {"x": rng.normal(size=(2, 3, 4, 5)), "output_size": size, "align_corners": align}


# --- pooling and convolution ---


def avg_pool_cases(shape: tuple[int, ...]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for stride, padding, include, ceil in itertools.product((1, 2), (0, 1), (True, False), (False, True)):
            yield {
                "x": rng.normal(size=shape),
                "kernel_size": 2,
                "stride": stride,
                "padding": padding,
                "count_include_pad": include,
                "ceil_mode": ceil,
            }

    return cases


def max_pool_cases(shape: tuple[int, ...]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for stride, padding, ceil in itertools.product((1, 2), (0, 1), (False, True)):
            # Distinct, and further apart than a step.
            x = rng.permutation(np.arange(float(np.prod(shape)))).reshape(shape) / 8
            yield {"x": x, "kernel_size": 3, "stride": stride, "padding": padding, "ceil_mode": ceil}

    return cases


def adaptive_cases(shape: tuple[int, ...], *sizes: tuple[int, ...]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for size in sizes:
            yield {"x": rng.normal(size=shape), "output_size": size}

    return cases


covers("TestAvgPool2DBackward", "nn.avg_pool2d")(avg_pool_cases((1, 2, 7, 6)))
covers("TestAvgPool2DNoBatchBackward", "nn.avg_pool2d")(avg_pool_cases((2, 7, 6)))
covers("TestAvgPool3DBackward", "nn.avg_pool3d")(avg_pool_cases((1, 2, 5, 4, 5)))
covers("TestAvgPool3DNoBatchBackward", "nn.avg_pool3d")(avg_pool_cases((2, 5, 4, 5)))
covers("TestMaxPool2DBackward", "nn.max_pool2d")(max_pool_cases((1, 2, 7, 6)))
covers("TestMaxPool2DNoBatchBackward", "nn.max_pool2d")(max_pool_cases((2, 7, 6)))
covers("TestMaxPool3DBackward", "nn.max_pool3d")(max_pool_cases((1, 2, 5, 4, 5)))
covers("TestMaxPool3DNoBatchBackward", "nn.max_pool3d")(max_pool_cases((2, 5, 4, 5)))
covers("TestAdaptiveAvgPool2DBackward", "nn.adaptive_avg_pool2d")(adaptive_cases((2, 3, 8, 7), (4, 3), (5, 7)))
covers("TestAdaptiveAvgPool2DNoBatchBackward", "nn.adaptive_avg_pool2d")(adaptive_cases((3, 8, 7), (4, 3), (5, 7)))
covers("TestAdaptiveAvgPool3DBackward", "nn.adaptive_avg_pool3d")(adaptive_cases((2, 3, 5, 6, 4), (3, 4, 2), (5, 2, 3)))
covers("TestAdaptiveAvgPool3DNoBatchBackward", "nn.adaptive_avg_pool3d")(
    adaptive_cases((3, 5, 6, 4), (3, 4, 2), (5, 2, 3))
)


def max_unpool_cases(rank: int) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for stride, padding in ((2, 0), (2, 1), (1, 0)):
            x = rng.normal(size=(2, 2, *(6, 4, 6)[:rank]))
            values, indices = oracles.max_pool(x, rank, 2, stride, padding, 1, False)
            # Where two windows give the same place, which of them wins is not defined, and nor is the derivative.
            if len(np.unique(indices[0, 0])) < indices[0, 0].size:
                continue
            yield {
                "x": values,
                "indices": indices,
                "kernel_size": 2,
                "stride": stride,
                "padding": padding,
                "output_size": x.shape[2:],
            }

    return cases


covers("TestMaxUnpool2DBackward", "nn.max_unpool2d")(max_unpool_cases(2))
covers("TestMaxUnpool3DBackward", "nn.max_unpool3d")(max_unpool_cases(3))


def conv_cases(rank: int, transposed: bool) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        extents = (5, 4, 5)[:rank]
        for stride, padding, dilation, groups in itertools.product((1, 2), (0, 1), (1, 2), (1, 2, 4)):
            if transposed and dilation == 2:
                continue
            inputs, outputs = (4, 8 // groups) if transposed else (4 // groups, 4)
            shape = (4, outputs) if transposed else (4, inputs)
            arguments: Arguments = {
                "x": rng.normal(size=(1, 4, *extents)),
                "weight": rng.normal(size=(*shape, *(3, 2, 2)[:rank])),
                "stride": stride,
                "padding": padding,
                "dilation": dilation,
                "groups": groups,
            }
            if transposed:
                arguments["output_padding"] = stride - 1
            if stride == 1:
                arguments["bias"] = rng.normal(size=8 if transposed else 4)
            yield arguments

    return cases


covers("TestConv2DBackward", "nn.conv2d")(conv_cases(2, False))
covers("TestConv3DBackward", "nn.conv3d")(conv_cases(3, False))
covers("TestTransposedConv2DBackward", "nn.conv_transpose2d")(conv_cases(2, True))
covers("TestTransposedConv3DBackward", "nn.conv_transpose3d")(conv_cases(3, True))


# --- normalisation ---


def affine(rng: np.random.Generator, shape: Any, defined: bool) -> Arguments:
    return {"weight": rng.normal(size=shape), "bias": rng.normal(size=shape)} if defined else {}


@covers("TestGroupNormBackward", "nn.group_norm")
def group_norm_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for groups, defined in itertools.product((1, 3, 6), (True, False)):
        yield {"x": rng.normal(size=(4, 6, 3, 3)), "num_groups": groups, "eps": 0.05, **affine(rng, 6, defined)}


@covers("TestLayerNormBackward", "nn.layer_norm")
def layer_norm_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for axes, defined in itertools.product((1, 2, 3), (True, False)):
        sizes = (4, 3, 5)[3 - axes :]
        yield {
            "x": rng.normal(size=(6, 4, 3, 5)),
            "normalized_shape": sizes,
            "eps": 1e-5,
            **affine(rng, sizes, defined),
        }


def batch_norm_cases(shape: tuple[int, ...]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for training, defined in itertools.product((True, False), (True, False)):
            yield {
                "x": rng.normal(size=shape),
                "running_mean": fixed(rng.normal(size=3)),
                "running_var": fixed(rng.uniform(0.5, 2, size=3)),
                "training": training,
                "eps": 0.5,
                **affine(rng, 3, defined),
            }

    return cases


covers("TestBatchNorm2DBackward", "nn.batch_norm")(batch_norm_cases((4, 3, 5, 5)))
covers("TestBatchNorm3DBackward", "nn.batch_norm")(batch_norm_cases((4, 3, 2, 3, 4)))


# --- losses ---

REDUCTIONS = ("mean", "sum", "none")


def distance_cases(**more: Any) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        for reduction, values in itertools.product(REDUCTIONS, itertools.product(*more.values())):
            chosen = dict(zip(more, values, strict=True))
            yield {"x": rng.normal(size=(2, 4)), "target": rng.normal(size=(2, 4)), "reduction": reduction, **chosen}

    return cases


covers("TestL1LossBackward", "nn.l1_loss")(distance_cases())
covers("TestMseLossBackward", "nn.mse_loss")(distance_cases())
covers("TestSmoothL1LossBackward", "nn.smooth_l1_loss")(distance_cases(beta=(0.25, 1.0)))


@covers("TestBinaryCrossEntropyBackward", "nn.binary_cross_entropy")
def bce_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for reduction, weighted in itertools.product(REDUCTIONS, (False, True)):
        yield {
            "x": rng.uniform(0.1, 0.9, size=(6, 4)),
            "target": fixed(rng.integers(0, 2, size=(6, 4)).astype(np.float64)),
            "weight": fixed(rng.uniform(0, 1, size=(6, 4))) if weighted else None,
            "reduction": reduction,
        }


@covers("TestBCEWithLogitsBackward", "nn.binary_cross_entropy_with_logits")
def bce_logits_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for reduction, weighted, positive in itertools.product(REDUCTIONS, (False, True), (False, True)):
        yield {
            "x": rng.normal(size=(6, 5)),
            "target": rng.uniform(0, 1, size=(6, 5)),
            "weight": fixed(rng.uniform(0, 1, size=5)) if weighted else None,
            "pos_weight": fixed(rng.uniform(0, 2, size=5)) if positive else None,
            "reduction": reduction,
        }


def nll_cases(shape: tuple[int, ...]) -> Cases:
    def cases(rng: np.random.Generator) -> Iterator[Arguments]:
        classes = shape[1]
        for reduction, weighted, ignored in itertools.product(REDUCTIONS, (False, True), (-1, 0, 1)):
            target = rng.integers(min(ignored, 0), classes, size=(shape[0], *shape[2:]))
            yield {
                "x": rng.uniform(0.1, 1, size=shape),
                "target": target,
                "weight": fixed(rng.uniform(0.5, 1, size=classes)) if weighted else None,
                "ignore_index": ignored,
                "reduction": reduction,
            }

    return cases


covers("TestNllLossBackward", "nn.nll_loss")(nll_cases((6, 2)))
covers("TestNllLoss2dBackward", "nn.nll_loss")(nll_cases((6, 2, 3, 3)))


@covers("TestKlDivBackward", "nn.kl_div")
def kl_div_cases(rng: np.random.Generator) -> Iterator[Arguments]:
    for reduction, log_target in itertools.product((*REDUCTIONS, "batchmean"), (False, True)):
        target = rng.uniform(0.1, 1, size=(4, 3))
        yield {
            "x": rng.normal(size=(4, 3)),
            "target": np.log(target) if log_target else target,
            "reduction": reduction,
            "log_target": log_target,
        }
