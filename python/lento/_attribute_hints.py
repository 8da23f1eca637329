"""What attributes of other libraries' tensors, generators, modules, … are here: the end of an AttributeError.

A hint is a descriptor that raises. So an attribute that is there costs what it cost before, which it would not with a
``__getattr__``, and ``hasattr`` says the truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from . import _linalg, _nn, _numpy_names, _ops, _random, stats
from ._core import Device, DType, Generator, Tensor
from ._distribution import Distribution
from ._hints import _GROUPS, _ONE_DEVICE
from ._module import Module
from .optim import Optimizer

_NO_BACKWARD = "gradients are results: use lento.grad(f)(x) or lento.value_and_grad(f)(x)"
_NO_STRIDES = "it is not needed: tensors have no strides; for memory use x.numpy()"
_ALL_DENSE = "it is not needed: all tensors are dense"
_BESIDE_STEP = "write it beside optimizer.step(gradients)"

_TENSOR = {
    # PyTorch: derivatives
    "backward": _NO_BACKWARD,
    "grad": _NO_BACKWARD,
    "grad_fn": _NO_BACKWARD,
    "requires_grad": "it is not needed: lento.grad differentiates by the arguments of a function",
    "requires_grad_": "it is not needed: lento.grad differentiates by the arguments of a function",
    "is_leaf": "it is not needed: lento.grad differentiates by the arguments of a function",
    "retain_grad": "use lento.grad of a function of this tensor",
    "register_hook": "use lento.custom_gradient",
    # PyTorch: dtypes, devices, memory
    "cuda": _ONE_DEVICE,
    "is_cuda": _ONE_DEVICE,
    "pin_memory": _ONE_DEVICE,
    "xpu": _ONE_DEVICE,
    "get_device": "use x.device",
    "type": "use x.dtype, or x.astype(dtype)",
    "type_as": "use x.astype(y.dtype)",
    "byte": "use x.astype(lento.uint8)",
    "char": "use x.astype(lento.int8)",
    "short": "use x.astype(lento.int16)",
    "cfloat": "use x.astype(lento.complex64)",
    "cdouble": "use x.astype(lento.complex128)",
    "element_size": "use x.itemsize",
    "ndimension": "use x.ndim",
    "nelement": "use x.size",
    "stride": _NO_STRIDES,
    "storage": _NO_STRIDES,
    "untyped_storage": _NO_STRIDES,
    "storage_offset": _NO_STRIDES,
    "is_sparse": _ALL_DENSE,
    "to_sparse": _ALL_DENSE,
    "to_dense": _ALL_DENSE,
    "layout": _ALL_DENSE,
    "data_ptr": "use x.numpy(), or lento.from_dlpack and x.__dlpack__()",
    "is_contiguous": "it is not needed: tensors have no strides, and x.reshape never fails for them",
    "is_floating_point": "use lento.isdtype(x.dtype, 'real floating')",
    "is_complex": "use lento.isdtype(x.dtype, 'complex floating')",
    "share_memory_": "use lento.from_dlpack, or pickle with protocol 5",
    # PyTorch: shapes
    "new_zeros": "use lento.zeros(shape, dtype=x.dtype)",
    "new_ones": "use lento.ones(shape, dtype=x.dtype)",
    "new_full": "use lento.full(shape, value, dtype=x.dtype)",
    "new_empty": "use lento.empty(shape, dtype=x.dtype)",
    "new_tensor": "use lento.asarray(values, dtype=x.dtype)",
    "where": "use lento.where(condition, x, y)",
    "unique": "use lento.unique_values(x), unique_counts, unique_inverse or unique_all",
    "histc": "use lento.histogram(x)",
    "clamp_min": "use x.clamp(min=low)",
    "clamp_max": "use x.clamp(max=high)",
    "dist": "use lento.linalg.vector_norm(x - y)",
    "mode": "use lento.bincount(x).argmax()",
    "unique_consecutive": "use x[lento.concat([lento.ones(1, dtype='bool'), x[1:] != x[:-1]])]",
    "hsplit": "use lento.split(x, parts, axis=1)",
    "vsplit": "use lento.split(x, parts, axis=0)",
    "multinomial": "use lento.random.multinomial(x, count)",
    "bernoulli": "use lento.random.bernoulli(p=x)",
    "H": "use x.conj().mT",
    "mH": "use x.conj().mT",
    # PyTorch: in place
    "add_": "use x += y",
    "sub_": "use x -= y",
    "mul_": "use x *= y",
    "div_": "use x /= y",
    "pow_": "use x **= y",
    "neg_": "use x = -x, or x *= -1",
    "zero_": "use x[...] = 0",
    "fill_": "use x[...] = value",
    "copy_": "use x[...] = y",
    "normal_": "use x[...] = lento.random.normal_like(x), or lento.nn.init.normal",
    "uniform_": "use x[...] = lento.random.uniform_like(x), or lento.nn.init.uniform",
    "random_": "use x[...] = lento.random.randint(x.shape, low, high)",
    "bernoulli_": "use x[...] = lento.random.bernoulli_like(x, p)",
    "exponential_": "use x[...] = lento.random.exponential(x.shape)",
    "fill_diagonal_": "use x = lento.fill_diagonal(x, value)",
    "detach_": "use x = x.detach()",
    "set_": "use x = y",
    "put_": "write x[lento.unravel_index(i, x.shape)] = v",
    "index_put_": "use x[i] = v, or x = lento.index_put(x, (i,), v, accumulate=True)",
    "apply_": "use functions of the whole tensor, as lento.where",
    "map_": "use functions of the whole tensors, as lento.where",
    "resize_": "use x = lento.resize(x, shape)",
    "t_": "use x = x.T",
    # JAX
    "at": "use x[i] = v and x[i] += v; for positions that repeat lento.index_add",
    "block_until_ready": "use lento.eval(x, wait=True)",
    "copy_to_host_async": "it is not needed: lento.eval(x) begins computing",
    "addressable_shards": _ONE_DEVICE,
    "sharding": _ONE_DEVICE,
    "devices": "use x.device",
    "weak_type": "it is not needed: only Python's numbers are weak; see lento.result_type",
    # NumPy
    "itemset": "use x[position] = value",
}

# What PyTorch has with an underscore, and is a method or function here without it.
_IN_PLACE = """
    abs addcdiv addcmul addmm ceil clamp clip cos cumsum erf exp floor index_add index_copy index_fill lerp log
    logical_not masked_fill masked_scatter reciprocal relu remainder round rsqrt scatter scatter_add sigmoid sign sin
    softmax sqrt squeeze swapaxes tanh transpose tril triu trunc unsqueeze
""".split()  # noqa: SIM905

_MODULE = {
    "cuda": _ONE_DEVICE,
    "xpu": _ONE_DEVICE,
    "type": "use model.to(dtype)",
    "zero_grad": "it is not needed: lento.value_and_grad returns gradients, and nothing keeps them",
    "requires_grad_": "assign what is not trained as lento.nn.Buffer, or take lento.grad by a part of the model",
    "compile": "it is not needed: every step of lento.step is compiled",
    "share_memory": _ONE_DEVICE,
    "add_module": "use setattr(model, name, module)",
    "register_module": "use setattr(model, name, module)",
    "get_submodule": "use dict(model.named_modules())[name]",
    "get_parameter": "use model.parameters()[name]",
    "get_buffer": "use model.buffers()[name]",
    "register_backward_hook": "use lento.custom_gradient",
    "register_full_backward_hook": "use lento.custom_gradient",
    "register_full_backward_pre_hook": "use lento.custom_gradient",
    "flatten_parameters": "it is not needed: weights have no layout in memory",
    "reset_parameters": "make the layer anew, or fill its tensors with lento.nn.init",
    "to_empty": "use model.to(dtype)",
    "set_submodule": "use setattr(model, name, module)",
    "from_pretrained": "write layer = nn.Embedding(*weight.shape), then layer.weight[...] = weight",
    # Flax
    "tabulate": "use print(model)",
}

_OPTIMIZER = {
    "zero_grad": "it is not needed: lento.value_and_grad returns gradients, and step(gradients) takes them",
    "init": "the optimizer keeps its state: lento.optim.Adam(model, lr=…).step(gradients)",
    "update": "use step(gradients), which changes the parameters in place",
    "add_param_group": f"give all groups when it is made: {_GROUPS}",
    "defaults": "use optimizer.param_groups, or the settings themselves, as optimizer.lr",
    "register_step_pre_hook": _BESIDE_STEP,
    "register_step_post_hook": _BESIDE_STEP,
}

# What NumPy's and PyTorch's generators have beside functions of lento.random of the same names.
_GENERATOR = {
    "integers": "write lento.random.randint(shape, low, high, generator=rng)",
    "random": "write lento.random.uniform(shape, generator=rng)",
    "standard_normal": "write lento.random.normal(shape, generator=rng)",
    "standard_exponential": "write lento.random.exponential(shape, generator=rng)",
    "standard_gamma": "write lento.random.gamma(shape, alpha, generator=rng)",
    "standard_cauchy": "write lento.random.cauchy(shape, generator=rng)",
    "shuffle": "write x[...] = lento.random.shuffle(x, generator=rng)",
    "permutation": "write lento.random.permutation(n, generator=rng), or lento.random.shuffle(x, generator=rng)",
    "permuted": "write lento.random.shuffle(x, axis, generator=rng)",
    "manual_seed": "write rng.seed(seed)",
    "initial_seed": "use rng.state[0]",
    "get_state": "use rng.state",
    "set_state": "write rng.state = state",
    "bit_generator": "use rng.state",
    "spawn": "use lento.Generator(seed) with other seeds",
}

_DEVICE = {
    "type": "use str(device), such as 'cpu:0'",
    "index": "use str(device), such as 'cpu:0'",
}

_DTYPE = {
    "type": "write dtype(value), as in lento.float32(3)",
    "char": "use dtype.name, or dtype.kind",
    "str": "use dtype.name, or dtype.kind",
    "is_floating_point": "use lento.isdtype(dtype, 'real floating')",
    "is_complex": "use lento.isdtype(dtype, 'complex floating')",
}

# What draws the numbers of a distribution of lento.stats.
_DRAWN = {
    "norm": "normal(shape, loc, scale)",
    "uniform": "uniform(shape, low, high)",
    "expon": "exponential(shape, scale)",
    "laplace": "laplace(shape, loc, scale)",
    "logistic": "logistic(shape, loc, scale)",
    "cauchy": "cauchy(shape, loc, scale)",
    "t": "normal(shape) / lento.sqrt(2 * lento.random.gamma(shape, df / 2) / df)",
    "gamma": "gamma(shape, a, scale)",
    "beta": "beta(shape, a, b)",
    "multivariate_normal": "multivariate_normal(mean, cov, shape)",
    "dirichlet": "dirichlet(alpha, shape)",
    "bernoulli": "bernoulli(shape, p)",
    "binom": "binomial(shape, n, p)",
    "poisson": "poisson(shape, mu)",
    "categorical": "categorical(logits, shape=shape)",
}


def _distribution_hints(kind: type) -> dict[str, str]:
    """What SciPy's and PyTorch's distributions have, and this one may not."""
    here = f"lento.stats.{kind.__name__}"
    draw = f"use lento.random.{_DRAWN[kind.__name__]}"
    hints = {"rvs": draw, "sample": draw, "rsample": draw}
    density = "logpdf" if hasattr(kind, "logpdf") else "logpmf"
    hints["log_prob"] = f"use {here}.{density}"
    if kind is stats.norm:
        return {**hints, "sf": f"use {here}.cdf(-x, -loc, scale)", "logsf": f"use {here}.logcdf(-x, -loc, scale)"}
    if hasattr(kind, "cdf"):
        cdf = f"{here}.cdf(x, …)"
        return {
            **hints,
            "sf": f"use 1 - {cdf}",
            "logcdf": f"use lento.log({cdf})",
            "logsf": f"use lento.log1p(-{cdf})",
            "ppf": f"use scipy.stats.{kind.__name__}.ppf and lento.asarray",
        }
    for name in ("cdf", "logcdf", "sf", "logsf", "ppf"):
        hints[name] = f"use scipy.stats.{kind.__name__}.{name} and lento.asarray"
    return hints


class Hint:
    """Stands for an attribute that is not there. In objects with attributes of their own those come first."""

    def __init__(self, name: str, hint: str) -> None:
        self.name = name
        self.hint = hint

    def __get__(self, owner: Any, kind: type) -> NoReturn:
        kind_name = "lento.Tensor" if kind is Tensor else kind.__name__  # as Python's own messages have them
        what = f"type object {kind_name!r}" if owner is None else f"{kind_name!r} object"
        text = f"{what} has no attribute {self.name!r}; {self.hint}"
        raise AttributeError(text, name=self.name, obj=kind if owner is None else owner)


class FixedHint(Hint):
    """The same where nothing can be assigned either."""

    def __set__(self, owner: Any, value: Any) -> NoReturn:
        self.__get__(owner, type(owner))

    def __delete__(self, owner: Any) -> NoReturn:
        self.__get__(owner, type(owner))


def _takes_tensor(function: Any) -> bool:
    return (getattr(function, "__text_signature__", None) or "").startswith("(x")


def _functions() -> Iterable[tuple[str, str]]:
    """Functions that others have as methods: all that take a tensor first."""
    for space, module in (("lento.nn", _nn), ("lento.linalg", _linalg), ("lento", _ops)):  # the last one counts
        for name in module.__all__:
            if _takes_tensor(getattr(module, name)):
                yield name, f"it is a function: {space}.{name}(x)"


def _draws() -> Iterable[tuple[str, str]]:
    """Functions of lento.random that others have as methods of a generator."""
    for name, function in vars(_random)["_functions"].items():
        positional, keywords, _ = (function.__text_signature__ or "").partition(", *, ")
        if keywords:
            names = ", ".join(one.partition("=")[0] for one in positional[1:].split(", "))
            yield name, f"write lento.random.{name}({names}, generator=rng)"


def _dir(self: object) -> list[str]:
    """What ``dir`` shows: all but hints."""
    import inspect

    return [name for name in object.__dir__(self) if not isinstance(inspect.getattr_static(self, name, None), Hint)]


def install() -> None:
    """Puts the hints where nothing has their names."""
    in_place = {
        f"{name}_": f"use x = x.{name}(…)" if name in vars(Tensor) else f"use x = lento.{name}(x, …)"
        for name in _IN_PLACE
    }
    tensors = {**dict(_functions()), **in_place, **_numpy_names.tensor_hints(), **_TENSOR}
    fixed: list[tuple[type, dict[str, str]]] = [
        (Tensor, tensors),
        (Generator, {**dict(_draws()), **_GENERATOR}),
        (Device, _DEVICE),
        (DType, _DTYPE),
    ]
    for fixed_kind, hints in fixed:
        here = vars(fixed_kind)
        for name, hint in hints.items():
            if name not in here:
                setattr(fixed_kind, name, FixedHint(name, hint))
    distributions = [(kind, _distribution_hints(kind)) for kind in Distribution.__subclasses__()]
    for kind, hints in ((Module, _MODULE), (Optimizer, _OPTIMIZER), *distributions):
        for name, hint in hints.items():
            if not hasattr(kind, name):
                setattr(kind, name, Hint(name, hint))
    for with_hints in (Tensor, Generator, Device, DType, Module, Optimizer):
        with_hints.__dir__ = _dir  # type: ignore[method-assign]
