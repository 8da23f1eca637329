"""Reads the catalogue's samples and turns them into calls with concrete arguments.

A tensor in a sample is a text such as ``"floating[2,3] in (0, 1)"``; a class of dtypes stands for one call with each of
them. Everything is seeded by the call's name, so that a failing case can be run alone and gives the same numbers.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from comparisons import numpy_dtype
from locations import BUILD

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATING = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *SIGNED, *UNSIGNED, *FLOATING, *COMPLEX]
CLASSES = {
    "bool": ["bool"],
    "signed": SIGNED,
    "unsigned": UNSIGNED,
    "integer": SIGNED + UNSIGNED,
    "floating": FLOATING,
    "complex": COMPLEX,
    "real": SIGNED + UNSIGNED + FLOATING,
    "numeric": SIGNED + UNSIGNED + FLOATING + COMPLEX,
    "any": DTYPES,
}
# What a tensor gets when the dtype under test is not in its own class.
PREFERRED = ["float32", "int64", "bool", "complex64"]


@dataclass(frozen=True)
class Arg:
    name: str
    type: str
    default: Any = None
    has_default: bool = False
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.type.rstrip("?") in ("Tensor", "Operand")

    @property
    def is_tensor_list(self) -> bool:
        return self.type.rstrip("?") in ("Tensor[]", "Tensor...")


@dataclass(frozen=True)
class OpInfo:
    """One entry of the catalogue, as far as tests are concerned."""

    name: str
    space: str
    family: str
    args: list[Arg]
    result_rule: str  # same, promote, float, bool, real, complex, a dtype, or "" when there is no rule
    rule_args: list[str]
    dtypes: list[str]
    samples: Any
    numpy: str
    torch: str
    tolerance: float | None
    results: list[str]
    aliases: list[str] = field(default_factory=list)
    waits: bool = False
    method: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.space}.{self.name}" if self.space else self.name

    @property
    def elementwise(self) -> bool:
        return self.family == "elementwise"


@dataclass
class Call:
    """One call of an op with concrete arguments. Tensors are NumPy arrays."""

    op: OpInfo
    label: str
    dtype: str
    arguments: dict[str, Any]
    raises: str = ""
    tolerance: float | None = None

    @property
    def id(self) -> str:
        return f"{self.op.qualified}-{self.label}-{self.dtype}"


def expand_classes(text: str) -> list[str]:
    """The dtypes of "floating|complex"."""
    found: list[str] = []
    for word in text.split("|"):
        found += [d for d in CLASSES.get(word, [word] if word in DTYPES else []) if d not in found]
    if not found:
        raise ValueError(f"unknown dtype class {text!r}")
    return found


def seed_of(text: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(text.encode()))


# --- tensors ---

_TENSOR = re.compile(
    r"^\s*(sorted\s+)?([a-z_0-9|]+)\s*\[([0-9,\s]*)\]\s*(?:in\s*[(\[]([^,]+),([^)\]]+)[)\]])?\s*(special|distinct)?\s*$"
)


def is_tensor_text(value: Any) -> bool:
    return isinstance(value, str) and _TENSOR.match(value) is not None


def tensor_classes(text: str) -> list[str]:
    """The dtypes that the tensor described by `text` may have."""
    match = _TENSOR.match(text)
    assert match, text
    word = match[2]
    if word == "permutation":
        return ["int64"]
    if word == "spd":
        return ["float32", "float64"]
    return expand_classes(word)


def choose_dtype(text: str, wanted: str) -> str:
    """The dtype of this tensor in the call for dtype `wanted`."""
    allowed = tensor_classes(text)
    if wanted in allowed:
        return wanted
    return next((d for d in PREFERRED if d in allowed), allowed[0])


def random_array(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], low: float | None, high: float | None
) -> Any:
    """Numbers of `dtype` from an interval (inclusive for integers), by default from a modest range around zero."""
    if dtype == "bool":
        return rng.integers(0, 2, size=shape).astype(np.bool_)
    kind = np.dtype(dtype).kind if dtype != "bfloat16" else "f"
    if kind in "iu":
        info = np.iinfo(dtype)
        first = max(int(np.ceil(-10 if low is None else low)), int(info.min))
        last = min(int(np.floor(10 if high is None else high)), int(info.max))
        return rng.integers(first, max(last, first), size=shape, endpoint=True).astype(dtype)
    first = -3.0 if low is None else low
    last = 3.0 if high is None else high
    values: Any = rng.uniform(first, last, size=shape)
    if kind == "c":
        values = values + 1j * rng.uniform(max(first, -3), min(last, 3), size=shape)
    return np.asarray(values).astype(numpy_dtype(dtype))


def make_tensor(text: str, dtype: str, rng: np.random.Generator) -> Any:
    match = _TENSOR.match(text)
    assert match, text
    shape = tuple(int(extent) for extent in match[3].split(",") if extent.strip())
    low = float(match[4]) if match[4] else None
    high = float(match[5]) if match[5] else None
    if match[2] == "permutation":
        return rng.permutation(shape[0]).astype(np.int64)
    if match[2] == "spd":
        factor = rng.uniform(-1, 1, size=shape)
        product = factor @ np.swapaxes(factor, -1, -2) + shape[-1] * np.eye(shape[-1])
        return product.astype(numpy_dtype(dtype))
    array = random_array(rng, dtype, shape, low, high)
    if match[6] == "special" and dtype in FLOATING:
        # Some of the values that make trouble, at places of their own.
        places = rng.permutation(array.size)[: max(array.size // 3, 1)]
        array.reshape(-1)[places] = np.resize([np.nan, np.inf, -np.inf, -0.0], places.size).astype(array.dtype)
    return np.sort(array, axis=-1) if match[1] else array


# --- the catalogue ---


def _default(text: Any, type: str = "") -> Any:
    """The default of an argument, as the catalogue writes it."""
    if not isinstance(text, str):
        return text
    if type.startswith("str"):
        return None if text == "null" else text.strip("'\"")
    lowered = text.strip()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("null", "none", "None"):
        return None
    if lowered in ("inf", "-inf", "nan"):
        return float(lowered)
    if lowered in _YAML_NUMBERS:
        return _YAML_NUMBERS[lowered]
    try:
        return json.loads(lowered)
    except json.JSONDecodeError:
        return lowered.strip("'\"")


_YAML_NUMBERS = {".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


def _plain(value: Any) -> Any:
    """YAML's infinities and nan, which JSON can only write as text."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return _YAML_NUMBERS.get(value, value) if isinstance(value, str) else value


def load_catalogue() -> list[OpInfo]:
    document = json.loads((BUILD / "generated" / "tests" / "op_samples.json").read_text())
    return [_op_from_json(entry) for entry in document["ops"]]


def _op_from_json(entry: dict[str, Any]) -> OpInfo:
    rule = entry.get("dtype") or {}
    return OpInfo(
        name=entry["name"],
        space=entry.get("space", ""),
        family=entry["family"],
        args=[
            Arg(
                a["name"],
                a["type"],
                _default(a.get("default"), a["type"]),
                "default" in a,
                a.get("keyword_only", False),
            )
            for a in entry["args"]
        ],
        result_rule=rule.get("result", ""),
        rule_args=rule.get("args", []),
        dtypes=rule.get("dtypes", []),
        samples=_plain(entry.get("samples")),
        numpy=entry.get("numpy", ""),
        torch=entry.get("torch", ""),
        tolerance=entry.get("tolerance"),
        results=entry.get("results", []),
        aliases=entry.get("aliases", []),
        waits=entry.get("waits", False),
        method=entry.get("method", ""),
    )


# --- calls ---


def _interval(text: str | None) -> tuple[float | None, float | None]:
    if not text:
        return None, None
    low, high = text.strip(" ()[]").split(",")
    return float(low), float(high)


def special_values(dtype: str) -> Any:
    """Values at the borders of a dtype: zeros of both signs, infinities, nan, extremes."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in SIGNED + UNSIGNED:
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype=dtype)
    if dtype in COMPLEX:
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a in parts for b in parts], dtype=dtype)
    import ml_dtypes

    info = ml_dtypes.finfo(numpy_dtype(dtype))
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -3.5, np.inf, -np.inf, np.nan]
    values += [
        float(info.max),
        float(info.min),
        float(info.tiny),
        -float(info.tiny),
        float(info.smallest_subnormal),
        float(info.eps),
    ]
    return np.array(values).astype(numpy_dtype(dtype))


def accepted_dtypes(op: OpInfo) -> list[str]:
    """What an elementwise op takes: its classes, and integers and bools where they become floats first."""
    found = list(op.dtypes) or list(DTYPES)
    if op.result_rule == "float":
        found = [d for d in DTYPES if d in found or d == "bool" or d in SIGNED + UNSIGNED]
    return found


def elementwise_calls(op: OpInfo) -> Iterator[Call]:
    tensors = [a for a in op.args if a.is_tensor]
    others = {a.name: a.default for a in op.args if not a.is_tensor}
    domains = op.samples if isinstance(op.samples, dict) else {}
    if isinstance(op.samples, list):
        yield from sampled_calls(op)
        return
    count = len(tensors)
    layouts: list[tuple[str, list[tuple[int, ...]]]] = [
        ("scalar", [()] * count),
        ("empty", [(0,)] * count),
        ("vector", [(7,)] * count),
        ("matrix", [(3, 4)] * count),
    ]
    if count > 1:
        rotated = [(3, 1), (4,), (2, 1, 1)]
        layouts.append(("broadcast", [rotated[i % 3] for i in range(count)]))
        layouts.append(("zero-dim", [(3, 4), (), (4,)][:count]))
        layouts.append(("empty-broadcast", [(0, 1), (1, 3), ()][:count]))
    for dtype in accepted_dtypes(op):

        def arrays(label: str, shapes: list[tuple[int, ...]], dtype: str = dtype) -> dict[str, Any]:
            rng = seed_of(f"{op.qualified}-{label}-{dtype}")
            made = {}
            for arg, shape in zip(tensors, shapes, strict=True):
                domain = domains.get(arg.name)
                kind = domain if domain in DTYPES else dtype
                low, high = _interval(None if domain in DTYPES else domain)
                made[arg.name] = random_array(rng, kind, shape, low, high)
            return {a.name: made.get(a.name, others.get(a.name)) for a in op.args}

        for label, shapes in layouts:
            yield Call(op, label, dtype, arrays(label, shapes))
        for label, transform in (("transposed", lambda x: x.T), ("strided", lambda x: x[::2, ::-1])):
            made = arrays(label, [(4, 3)] * count)
            yield Call(op, label, dtype, {k: transform(v) if isinstance(v, np.ndarray) else v for k, v in made.items()})
        if domains.get("special") is False or any(domain in DTYPES for domain in domains.values()):
            continue
        values = special_values(dtype)
        if count == 1:
            yield Call(op, "special", dtype, {a.name: values if a.is_tensor else a.default for a in op.args})
        elif count == 2 and dtype not in COMPLEX:
            left, right = np.meshgrid(values, values, indexing="ij")
            pair = iter((left, right))
            yield Call(op, "special", dtype, {a.name: next(pair) if a.is_tensor else a.default for a in op.args})


def sampled_calls(op: OpInfo) -> Iterator[Call]:
    for number, sample in enumerate(op.samples or []):
        sample = dict(sample)
        raises = sample.pop("raises", "")
        tolerance = sample.pop("tolerance", None)
        for dtype in _dtypes_of_sample(op, sample):
            rng = seed_of(f"{op.qualified}-{number}-{dtype}")
            arguments = {}
            for arg in op.args:
                value = sample.get(arg.name, arg.default)
                arguments[arg.name] = _argument(arg, value, dtype, rng)
            yield Call(op, f"sample{number}", dtype, arguments, raises, tolerance)


def _texts(value: Any) -> Iterator[str]:
    if is_tensor_text(value):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _dtypes_of_sample(op: OpInfo, sample: dict[str, Any]) -> list[str]:
    """One call for each dtype of the first tensor that is given by a class."""
    for arg in op.args:
        if not (arg.is_tensor or arg.is_tensor_list):
            continue
        for text in _texts(sample.get(arg.name)):
            allowed = tensor_classes(text)
            if len(allowed) < 2:
                continue
            if arg.name in op.rule_args or not op.rule_args:
                accepted = accepted_dtypes(op)
                allowed = [d for d in allowed if d in accepted] or allowed
            return allowed
    for arg in op.args:
        for text in _texts(sample.get(arg.name)):
            return [tensor_classes(text)[0]]
    return ["-"]


def _argument(arg: Arg, value: Any, dtype: str, rng: np.random.Generator) -> Any:
    if arg.is_tensor_list and isinstance(value, list):
        return [_argument(Arg(arg.name, "Tensor"), each, dtype, rng) for each in value]
    if arg.is_tensor and isinstance(value, str):
        if is_tensor_text(value):
            return make_tensor(value, choose_dtype(value, dtype), rng)
        return Derived(value)
    if arg.is_tensor and isinstance(value, list):
        return literal_array(value)
    if isinstance(value, str) and arg.type.startswith(("number", "float")):
        return _default(value)
    return value


def literal_array(value: list[Any]) -> Any:
    """Values written out in a sample, with Lento's default dtypes."""
    array = np.array(value)
    if array.dtype.kind == "f" or array.size == 0:
        return array.astype(np.float32)
    return array.astype(np.complex64) if array.dtype.kind == "c" else array


@dataclass(frozen=True)
class Derived:
    """An argument computed from another one, such as "argsort(x1)"."""

    expression: str

    def resolve(self, arguments: dict[str, Any]) -> Any:
        return eval(self.expression, {"argsort": np.argsort, "sort": np.sort, "np": np}, arguments)


def calls_of(op: OpInfo) -> Iterator[Call]:
    """Every call that the catalogue asks for."""
    source = elementwise_calls(op) if op.elementwise else sampled_calls(op)
    for call in source:
        for name, value in call.arguments.items():
            if isinstance(value, Derived):
                call.arguments[name] = value.resolve(call.arguments)
        yield call
