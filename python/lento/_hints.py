"""What names of other libraries are here: the end of an AttributeError of a module, and of an ImportError.

NumPy's names are in _numpy_names.py; those of tensors, modules and optimizers in _attribute_hints.py."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import NoReturn

from . import _numpy_names

_COMPILED = "it is not needed: every step is compiled, and found again; lento.compile(f) also saves recording it"
_NO_GRAD = "it is not needed: only what lento.grad calls is differentiated"
_ONE_DEVICE = "it is not needed: lento.devices() has the one device that computes"
_KEY = "use lento.Generator(seed), given as generator="
_DECODER = "use nn.MultiHeadAttention twice, the second time with the encoder's output as key and value"
_LAYER = "use nn.TransformerEncoderLayer"
_GROUPS = "use groups=, as in lento.optim.Adam(model, groups=[{'params': 'head', 'lr': 0.1}])"
_OWN_OPTIMIZER = "use a class of your own, as in the example of lento.optim.Optimizer"
_CLIP_NORM = "use gradients, norm = lento.optim.clip_grad_norm(gradients, max_norm)"
_CLIP_VALUE = "use gradients = lento.optim.clip_grad_value(gradients, limit)"
_EMA = "use lento.optim.EMA(model, decay)"
_STEP = "it is not needed: optimizer.step(gradients) changes the parameters in place"
_PATHS = "use lento.tree.map; a module has its names in model.named_parameters()"
_SPECIAL = "betainc gammainc gammaincc j0 j1 jv iv k0 k1 expi exp1 hyp2f1 ellipk ellipe lambertw airy"
_NO_LAYOUT = "it is not needed: tensors have no memory layout"
_DENSE = "all tensors are dense: use lento.index_put(lento.zeros(shape), indices, values, accumulate=True)"
_TRIPLETS = "use nn.relu(distance(anchor, positive) - distance(anchor, negative) + margin).mean()"


def _lazy(kind: str, inputs: str) -> str:
    return f"use nn.{kind}({inputs}, …), with the number of inputs"


def _optax(kind: str) -> str:
    return f"use optimizer = lento.optim.{kind}(model, lr=…) and optimizer.step(gradients)"


def _distribution(name: str, draw: str, density: str = "logpdf") -> str:
    return f"use lento.stats.{name}.{density} for log_prob, lento.random.{draw} to draw"


_HINTS = {
    "lento": {
        # tensors
        "tensor": "use lento.asarray",
        "as_tensor": "use lento.asarray",
        "from_numpy": "use lento.asarray",
        "FloatTensor": "use lento.asarray(values, dtype=lento.float32)",
        "LongTensor": "use lento.asarray(values, dtype=lento.int64)",
        "DoubleTensor": "use lento.asarray(values, dtype=lento.float64)",
        "HalfTensor": "use lento.asarray(values, dtype=lento.float16)",
        "IntTensor": "use lento.asarray(values, dtype=lento.int32)",
        "ByteTensor": "use lento.asarray(values, dtype=lento.uint8)",
        "BoolTensor": "use lento.asarray(values, dtype=lento.bool)",
        "Size": "use a tuple, as x.shape is",
        "ndarray": "use lento.Tensor",
        "Array": "use lento.Tensor",
        "is_tensor": "use isinstance(x, lento.Tensor)",
        "numel": "use x.size",
        "t": "use x.T",
        "is_floating_point": "use lento.isdtype(x.dtype, 'real floating')",
        "is_complex": "use lento.isdtype(x.dtype, 'complex floating')",
        "ndenumerate": "use enumerate over lento.ravel(x)",
        "ndindex": "use itertools.product(*map(range, shape))",
        "nditer": "use a function of the whole tensor, as lento.where; or for value in lento.ravel(x)",
        # dtypes and devices
        "float": "use lento.float32 or lento.float64",
        "float_": "use lento.float64",
        "double": "use lento.float64",
        "half": "use lento.float16",
        "int": "use lento.int32 or lento.int64",
        "int_": "use lento.int64",
        "long": "use lento.int64",
        "short": "use lento.int16",
        "bool_": "use lento.bool",
        "cfloat": "use lento.complex64",
        "dtype": "use lento.DType, or a name like 'float32'",
        "set_default_dtype": "give dtype=; floats, and lists of them, become lento.float32",
        "get_default_dtype": "it is lento.float32",
        "cuda": _ONE_DEVICE,
        "mps": _ONE_DEVICE,
        "backends": _ONE_DEVICE,
        "xpu": _ONE_DEVICE,
        "accelerator": _ONE_DEVICE,
        "sharding": _ONE_DEVICE,
        "local_devices": "use lento.devices()",
        "device_put": "use lento.asarray",
        "device_get": "use x.numpy()",
        "device_count": "use len(lento.devices())",
        "local_device_count": "use len(lento.devices())",
        "default_backend": "use lento.devices()",
        "channels_last": _NO_LAYOUT,
        "contiguous_format": _NO_LAYOUT,
        "preserve_format": _NO_LAYOUT,
        "sparse": _DENSE,
        "sparse_coo_tensor": _DENSE,
        # random numbers
        "rand": "use lento.random.uniform",
        "randn": "use lento.random.normal",
        "randint": "use lento.random.randint, with the shape first",
        "rand_like": "use lento.random.uniform_like",
        "randn_like": "use lento.random.normal_like",
        "randint_like": "use lento.random.randint_like",
        "randperm": "use lento.random.permutation",
        "manual_seed": "use lento.random.seed",
        "seed": "use lento.random.seed",
        "get_rng_state": "use lento.random.state_dict()",
        "set_rng_state": "use lento.random.load_state_dict(state)",
        # functions
        "in1d": "use lento.isin",
        "trapz": "use lento.trapezoid",
        "product": "use lento.prod",
        "cumproduct": "use lento.cumprod",
        "histc": "use lento.histogram",
        "svd_lowrank": "use lento.linalg.svd",
        "pinverse": "use lento.linalg.pinv",
        "dist": "use lento.linalg.vector_norm(x - y)",
        "mode": "use lento.bincount(x).argmax()",
        "range": "use lento.arange, which leaves the end out",
        "addr": "use x + lento.outer(y, z)",
        "cartesian_prod": "use lento.stack([a.ravel() for a in lento.meshgrid(x, y, indexing='ij')], axis=-1)",
        "combinations": "use itertools.combinations of positions",
        "unique_consecutive": "use x[lento.concat([lento.ones(1, dtype='bool'), x[1:] != x[:-1]])]",
        "polar": "use lento.complex(r * lento.cos(angle), r * lento.sin(angle))",
        "stft": "use lento.fft.rfft(lento.sliding_window_view(x, n)[::step] * window)",
        "istft": "use lento.fft.irfft, and add the pieces where they overlap",
        "ops": "use lento.index_add or lento.scatter_reduce, with the number of segments",
        "view_as_real": "use lento.stack([x.real, x.imag], axis=-1)",
        "view_as_complex": "use lento.complex(x[..., 0], x[..., 1])",
        "errstate": "it is not needed: no operation warns; look with lento.isfinite",
        # derivatives
        "no_grad": _NO_GRAD,
        "inference_mode": _NO_GRAD,
        "enable_grad": _NO_GRAD,
        "set_grad_enabled": _NO_GRAD,
        "is_grad_enabled": _NO_GRAD,
        "autograd": "use lento.grad, lento.value_and_grad or lento.vjp; a Function is lento.custom_gradient",
        "func": "use lento.grad, lento.vjp, lento.jvp and lento.vmap",
        "jacfwd": "use lento.jacobian",
        "jacrev": "use lento.jacobian",
        "custom_vjp": "use lento.custom_gradient(f, backward)",
        "custom_jvp": "use lento.custom_gradient(f, backward)",
        "remat": "use lento.checkpoint",
        # compiling and running
        "jit": _COMPILED,
        "pmap": "use lento.vmap; one device computes, with all cores",
        "pjit": _COMPILED,
        "disable_jit": "use lento.options(fusion=False) to look for what a compiled step does",
        "make_jaxpr": "use lento.dump(f(x))",
        "eval_shape": "use f(x).shape: nothing is computed until it is read",
        "ShapeDtypeStruct": "use lento.empty(shape, dtype=dtype): nothing is computed until it is read",
        "named_scope": "use lento.scope",
        "named_call": "use lento.scope",
        "block_until_ready": "use lento.eval(x, wait=True)",
        "effects_barrier": "use lento.wait",
        "clear_caches": "use lento.cache.clear()",
        "profiler": "use lento.explain, lento.metrics and lento.dump",
        "debug_nans": "look with lento.isfinite; lento.explain says what ran",
        "use_deterministic_algorithms": "it is not needed: results are the same to the bit each time",
        "set_float32_matmul_precision": "it is not needed: products of float32 are computed as float32",
        "mark_step": "use lento.step, or lento.lazy.mark_step",
        "synchronize": "use lento.wait",
        "autocast": "use x.astype(lento.bfloat16) and model.to(lento.bfloat16)",
        "amp": "use x.astype(lento.bfloat16) and model.to(lento.bfloat16)",
        "debug": "use print: reading a tensor computes it; lento.add_step_closure prints without waiting",
        "pure_callback": "use Python as it is; lento.add_step_closure runs what must not wait",
        # modules of others
        "numpy": "write import lento as np: functions are in lento itself",
        "lax": "functions are in lento and lento.nn; loops and branches are Python's own",
        "scipy": "use lento.special, lento.linalg and lento.stats",
        "distributions": "use lento.stats for log_prob, lento.random to draw",
        "tree_util": "use lento.tree",
        "tree_map": "use lento.tree.map",
        "tree_leaves": "use lento.tree.leaves",
        "utils": "use lento.prefetch for a DataLoader's work, lento.checkpoint, lento.nn and lento.optim",
        "distributed": "one process computes, with all cores: lento.set_num_threads",
        "multiprocessing": "use Python's own; a child computes with as many threads as lento.set_num_threads says",
        "process_index": "one process computes, with all cores: lento.set_num_threads",
        "process_count": "one process computes, with all cores: lento.set_num_threads",
        "flatten_util": "use lento.concat([leaf.ravel() for leaf in lento.tree.leaves(tree)])",
        "functional": "functions are in lento and lento.nn",
        "config": "use lento.options",
        "testing": "NumPy's takes tensors; lento.allclose gives True or False",
        "lib": "functions are in lento itself: lento.sliding_window_view",
    },
    "lento.random": {
        "integers": "use lento.random.randint(shape, low, high)",
        "RandomState": _KEY,
        "key": _KEY,
        "PRNGKey": _KEY,
        "split": "it is not needed: a lento.Generator gives other numbers each time",
        "fold_in": "use lento.Generator(seed) with another seed",
        "manual_seed": "use lento.random.seed",
        "orthogonal": "use lento.nn.init.orthogonal",
        "rademacher": "use 2 * lento.random.bernoulli(shape) - 1",
        "bits": "use lento.random.randint(shape, low, high)",
        "loggamma": "use lento.log(lento.random.gamma(shape, alpha))",
        "key_data": "use generator.state, of a lento.Generator",
        **dict.fromkeys(("BitGenerator", "MT19937", "PCG64", "Philox", "SFC64", "SeedSequence"), _KEY),
    },
    "lento.nn": {
        "modules": "layers are in lento.nn itself: lento.nn.Linear",
        "parameter": "use lento.nn.Parameter, or assign the tensor: floating tensors of a module are trained",
        "initializers": "use lento.nn.init",
        "utils": "use lento.optim.clip_grad_norm(gradients, …) for clip_grad_norm_, a division by "
        "lento.linalg.vector_norm in forward for weight_norm, and lento.pad with a mask for rnn.pad_sequence",
        "ParameterList": "use a list",
        "ParameterDict": "use a dict",
        "DataParallel": "it is not needed: the one device uses all cores",
        "MultiheadAttention": "use nn.MultiHeadAttention, which takes (batch, length, features) and masks that are "
        "True where one may look, and gives the output alone",
        "Transformer": f"{_LAYER} for the encoder; for the decoder {_DECODER}",
        "TransformerEncoder": "use nn.Sequential(*[nn.TransformerEncoderLayer(…) for _ in range(n)])",
        "TransformerDecoder": _DECODER,
        "TransformerDecoderLayer": _DECODER,
        "LazyLinear": _lazy("Linear", "in_features"),
        **{f"Lazy{kind}": _lazy(kind, "in_channels") for kind in ("Conv1d", "Conv2d", "Conv3d")},
        **{f"Lazy{kind}": _lazy(kind, "num_features") for kind in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")},
        "SyncBatchNorm": "use nn.BatchNorm2d: one process computes",
        "AlphaDropout": "use nn.alpha_dropout(x, p, self.training) in forward",
        "MaxUnpool1d": "use nn.max_unpool1d",
        "MaxUnpool2d": "use nn.max_unpool2d",
        "MaxUnpool3d": "use nn.max_unpool3d",
        "MultiLabelMarginLoss": "use nn.MultiLabelSoftMarginLoss, which takes zeros and ones as targets",
        "TripletMarginWithDistanceLoss": _TRIPLETS,
        "RNNBase": "use nn.RNN, nn.GRU or nn.LSTM",
        "Softmax2d": "use nn.Softmax(1)",
        "AdaptiveLogSoftmaxWithLoss": "use nn.CrossEntropyLoss of all classes",
        "FractionalMaxPool2d": "use nn.AdaptiveMaxPool2d",
        "UpsamplingNearest2d": "use nn.Upsample(scale_factor=…)",
        "UpsamplingBilinear2d": "use nn.Upsample(scale_factor=…, mode='bilinear', align_corners=True)",
        "upsample": "use nn.interpolate",
        "hard_tanh": "use nn.hardtanh",
        "hard_sigmoid": "use nn.hardsigmoid",
        "hard_swish": "use nn.hardswish",
        "hard_silu": "use nn.hardswish",
        "soft_sign": "use nn.softsign",
        "standardize": "use nn.layer_norm(x, x.shape[-1:])",
        "dot_product_attention": "use nn.scaled_dot_product_attention, which takes (batch, heads, length, features)",
    },
    "lento.nn.functional": {
        "grid_sample": "write it with x[:, :, i, j] of the four neighbours of each point",
        "affine_grid": "write it with lento.meshgrid and @",
        "upsample": "use nn.interpolate",
        "upsample_nearest": "use nn.interpolate",
        "upsample_bilinear": "use nn.interpolate(x, …, mode='bilinear', align_corners=True)",
        "multilabel_margin_loss": "use nn.multilabel_soft_margin_loss, which takes zeros and ones as targets",
        "triplet_margin_with_distance_loss": _TRIPLETS,
        "pdist": "use nn.cdist(x, x), and lento.triu_indices(n, n, 1) for each pair once",
    },
    "lento.nn.init": {
        "eye_": "use weight[...] = lento.eye(*weight.shape)",
        "sparse_": "use weight[...] = lento.where(lento.random.bernoulli(keep, weight.shape), weight, 0)",
        "dirac_": "use weight[...] = 0, then weight[i, i, middle] = 1 for each channel i",
    },
    "lento.optim": {
        # optax
        **{
            kind.lower(): _optax(kind)
            for kind in ("SGD", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "Adafactor", "Lion", "NAdam", "RAdam")
        },
        "rmsprop": _optax("RMSprop"),
        "chain": "use lento.optim.clip_grad_norm(gradients, …) and what else there is before optimizer.step(gradients)",
        "apply_updates": _STEP,
        "clip": _CLIP_VALUE,
        "clip_by_global_norm": _CLIP_NORM,
        "multi_transform": _GROUPS,
        "masked": _GROUPS,
        "ema": _EMA,
        "inject_hyperparams": "it is not needed: assign optimizer.lr at any time",
        "sgdr_schedule": "use lento.optim.join_schedules of several lento.optim.warmup_cosine_decay_schedule",
        "piecewise_interpolate_schedule": "use lento.optim.join_schedules of several lento.optim.linear_schedule",
        "softmax_cross_entropy": "use lento.nn.cross_entropy(logits, probabilities)",
        "softmax_cross_entropy_with_integer_labels": "use lento.nn.cross_entropy(logits, labels)",
        "sigmoid_binary_cross_entropy": "use lento.nn.binary_cross_entropy_with_logits(logits, labels)",
        "l2_loss": "use 0.5 * lento.nn.mse_loss(predictions, targets, reduction='none')",
        "huber_loss": "use lento.nn.huber_loss(predictions, targets, reduction='none')",
        "add_decayed_weights": "use lento.optim.AdamW, or weight_decay= of another optimizer",
        "nadamw": "use optimizer = lento.optim.NAdam(model, lr=…, decoupled_weight_decay=True)",
        **dict.fromkeys(("lookahead", "lamb", "lars", "adabelief", "yogi", "novograd", "sm3", "Muon"), _OWN_OPTIMIZER),
        **dict.fromkeys(("GradientTransformation", "scale", "scale_by_adam", "scale_by_schedule"), _OWN_OPTIMIZER),
        "scale_by_learning_rate": "use lr=, a number or a schedule such as lento.optim.cosine_decay_schedule",
        "OptState": "the optimizer keeps its state: optimizer.state_dict() of lento.optim.Adam",
        "apply_if_finite": "use an if around optimizer.step(gradients), of lento.optim.global_norm(gradients)",
        "adaptive_grad_clip": "write it with lento.tree.map over gradients and parameters",
        "squared_error": "use lento.square(predictions - targets)",
        "cosine_distance": "use 1 - lento.nn.cosine_similarity(predictions, targets)",
        "losses": "they are functions of lento.nn",
        "schedules": "they are in lento.optim itself: lento.optim.cosine_decay_schedule",
        "tree_utils": "use lento.tree",
        # PyTorch
        "LBFGS": "use scipy.optimize.minimize(f, x, jac=lento.grad(f), method='L-BFGS-B')",
        "Rprop": "use lento.optim.RMSprop or lento.optim.Lion",
        "ASGD": "use lento.optim.SGD with lento.optim.EMA",
        "SparseAdam": "use lento.optim.Adam",
        "clip_grad_norm_": _CLIP_NORM,
        "clip_grad_value_": _CLIP_VALUE,
        "AveragedModel": _EMA,
        "swa_utils": _EMA,
    },
    "lento.optim.lr_scheduler": {
        "SWALR": "use lento.optim.lr_scheduler.CosineAnnealingLR, and lento.optim.EMA for the averages",
    },
    "lento.linalg": {
        "cho_solve": "use lento.linalg.cholesky_solve",
        "cho_factor": "use lento.linalg.cholesky",
        **dict.fromkeys(("lu_factor", "lu_solve"), "use lento.linalg.solve, or lento.linalg.lu"),
        **dict.fromkeys(("null_space", "orth"), "use lento.linalg.svd"),
    },
    "lento.tree": {
        "tree_map": "use lento.tree.map",
        "structure": "use lento.tree.flatten, which gives the function that rebuilds",
        "reduce": "use functools.reduce over lento.tree.leaves",
        **dict.fromkeys(("map_with_path", "leaves_with_path", "flatten_with_path"), _PATHS),
    },
    "lento.fft": {},
    "lento.special": {
        **{name: f"use scipy.special.{name} and lento.asarray" for name in _SPECIAL.split()},
        "factorial": "use lento.exp(lento.special.gammaln(n + 1))",
        "comb": "use lento.exp(-lento.special.betaln(n - k + 1, k + 1)) / (n + 1)",
    },
    "lento.stats": {
        "Normal": _distribution("norm", "normal"),
        "Uniform": _distribution("uniform", "uniform"),
        "Exponential": _distribution("expon", "exponential"),
        "Laplace": _distribution("laplace", "laplace"),
        "Cauchy": _distribution("cauchy", "cauchy"),
        "StudentT": "use lento.stats.t.logpdf for log_prob",
        "LogNormal": "use lento.stats.norm.logpdf of lento.log(x), less lento.log(x), for log_prob",
        "Gamma": _distribution("gamma", "gamma"),
        "Beta": _distribution("beta", "beta"),
        "MultivariateNormal": _distribution("multivariate_normal", "multivariate_normal"),
        "Dirichlet": _distribution("dirichlet", "dirichlet"),
        "Bernoulli": _distribution("bernoulli", "bernoulli", "logpmf"),
        "Binomial": _distribution("binom", "binomial", "logpmf"),
        "Poisson": _distribution("poisson", "poisson", "logpmf"),
        "Categorical": _distribution("categorical", "categorical", "logpmf"),
    },
}

# Where a name that a module lacks is looked for.
_SPACES = (
    "lento",
    "lento.nn",
    "lento.linalg",
    "lento.random",
    "lento.special",
    "lento.stats",
    "lento.fft",
    "lento.optim",
)


def _offers(module: ModuleType, name: str) -> bool:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return name in listed
    value = vars(module).get(name)
    return callable(value) and (value.__module__ or "").startswith("lento")


def hint_of(module: str, name: str) -> str | None:
    """What to write instead of ``module.name``, or where that name is."""
    if name.startswith("_"):
        return None
    if hint := _HINTS[module].get(name) or _numpy_names.hint(module, name):
        return hint
    if found := _space_of(name):
        return f"it is {found}.{name}"
    if name.endswith("_") and (found := _space_of(name[:-1])):  # PyTorch's F.relu_
        return f"use x = {found}.{name[:-1]}(x)"
    return None


def _space_of(name: str) -> str | None:
    return next((space for space in _SPACES if _offers(sys.modules[space], name)), None)


_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
_EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]


def _is_importing(frame: FrameType) -> bool:
    """Whether the frame is at ``from … import …``, which drops the text of an AttributeError."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while 0 <= at < len(code) and code[at] == _EXTENDED_ARG:
        at += 2
    return 0 <= at < len(code) and code[at] == _IMPORT_FROM


def hinting(module: str) -> Callable[[str], NoReturn]:
    """What a module's ``__getattr__`` is."""

    def __getattr__(name: str) -> NoReturn:
        hint = hint_of(module, name)
        if hint and f"{module}.{name}" not in sys.modules and _is_importing(sys._getframe(1)):
            text = f"cannot import name {name!r} from {module!r}; {hint}"
            raise ImportError(text, name=module, path=getattr(sys.modules[module], "__file__", None))
        text = f"module {module!r} has no attribute {name!r}" + (f"; {hint}" if hint else "")
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return __getattr__


def install() -> None:
    """Lets all these modules answer so; type checkers do not see it, to whom every name would be there."""
    for module in _HINTS:
        vars(sys.modules[module])["__getattr__"] = hinting(module)
