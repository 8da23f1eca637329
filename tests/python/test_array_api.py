"""`import lento` is a namespace of the Array API standard 2025.12: names, signatures, inspection, devices."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import array_api_names as names
import lento
import pytest

SPACES: list[tuple[Any, dict[str, str]]] = [
    (lento, names.FUNCTIONS),
    (lento.linalg, names.LINALG),
    (lento.fft, names.FFT),
    (lento.__array_namespace_info__(), names.INFO),
]


def functions() -> Iterator[Any]:
    for space, signatures in SPACES:
        prefix = space.__name__ if isinstance(space, ModuleType) else "info"
        for name, signature in signatures.items():
            yield pytest.param(space, name, signature, id=f"{prefix}.{name}")


def standard_signature(text: str) -> list[inspect.Parameter]:
    text = text.removeprefix("/, ") if text.startswith("/, ") else text.removeprefix("/")
    scope: dict[str, Any] = {}
    exec(f"def function({text}): ...", scope)
    return list(inspect.signature(scope["function"]).parameters.values())


def check_signature(own: list[inspect.Parameter], standard: list[inspect.Parameter]) -> None:
    """Every call that the standard allows is allowed; what it does not know of may be left out."""
    by_name = {parameter.name: parameter for parameter in own}
    for index, wanted in enumerate(standard):
        if wanted.kind is inspect.Parameter.VAR_POSITIONAL:
            assert own[index].kind is inspect.Parameter.VAR_POSITIONAL
            continue
        if wanted.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            found = own[index]
            assert found.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), wanted
        if wanted.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            found = by_name[wanted.name]
            assert found.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), wanted
        if wanted.default is not inspect.Parameter.empty:
            assert found.default == wanted.default, wanted
    known = {parameter.name for parameter in standard}
    for index, parameter in enumerate(own):
        if parameter.name in known or index < len(standard) or parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        assert parameter.default is not inspect.Parameter.empty, f"{parameter} is needed and not of the standard"


@pytest.mark.parametrize(("space", "name", "signature"), list(functions()))
def test_function(space: Any, name: str, signature: str) -> None:
    function = getattr(space, name)
    own = list(inspect.signature(function).parameters.values())
    check_signature(own, standard_signature(signature))


@pytest.mark.parametrize(("name", "signature"), names.METHODS.items(), ids=names.METHODS)
def test_method(name: str, signature: str) -> None:
    method = getattr(lento.ones((2, 2)), name)
    check_signature(list(inspect.signature(method).parameters.values()), standard_signature(signature))


def test_constants_and_dtypes() -> None:
    assert (lento.e, lento.pi, lento.inf) == (math.e, math.pi, math.inf)
    assert math.isnan(lento.nan)
    assert lento.newaxis is None
    for name in names.CONSTANTS:
        assert hasattr(lento, name)
    dtypes = [getattr(lento, name) for name in names.DTYPES]
    assert len(set(dtypes)) == len(dtypes)
    assert all(a == a and a != b for i, a in enumerate(dtypes) for b in dtypes[:i])


def test_attributes() -> None:
    x = lento.reshape(lento.arange(6), (2, 3))
    for name in names.ATTRIBUTES:
        assert hasattr(x, name)
    assert (x.ndim, x.shape, x.size) == (2, (2, 3), 6)
    assert x.T.tolist() == x.mT.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_namespace_is_the_module_itself() -> None:
    x = lento.ones(2)
    assert x.__array_namespace__() is lento
    assert x.__array_namespace__(api_version=None) is lento
    assert lento.__array_api_version__ == "2025.12"
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is lento
    for wrong in ("2020.01", "2026.12", "", "draft"):
        with pytest.raises(ValueError, match=r"2025\.12"):
            x.__array_namespace__(api_version=wrong)


def test_capabilities_hold() -> None:
    capabilities = lento.__array_namespace_info__().capabilities()
    assert capabilities == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}
    x = lento.ones((1,) * 100)
    assert (x + x).ndim == 100


def test_default_dtypes_are_what_functions_give() -> None:
    info = lento.__array_namespace_info__()
    for device in info.devices():
        defaults = info.default_dtypes(device=device)
        assert defaults["real floating"] is lento.zeros(1, device=device).dtype
        assert defaults["integral"] is lento.asarray(1, device=device).dtype
        assert defaults["complex floating"] is lento.asarray(1j, device=device).dtype
        assert defaults["indexing"] is lento.argmax(lento.zeros(1, device=device)).dtype
    assert info.default_dtypes() == info.default_dtypes(device="cpu")
    with pytest.raises(ValueError, match="nowhere"):
        info.default_dtypes(device="nowhere")


def test_dtypes_by_kind() -> None:
    info = lento.__array_namespace_info__()
    assert list(info.dtypes()) == names.DTYPES
    assert list(info.dtypes(kind="signed integer")) == ["int8", "int16", "int32", "int64"]
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert info.dtypes(kind=("bool", "complex floating"), device="reference") == {
        "bool": lento.bool,
        "complex64": lento.complex64,
        "complex128": lento.complex128,
    }
    assert info.dtypes(kind="numeric") == {k: v for k, v in info.dtypes().items() if k != "bool"}
    with pytest.raises(ValueError, match="unknown kind"):
        info.dtypes(kind="half")
    with pytest.raises(TypeError):
        info.dtypes(kind=7)  # type: ignore[arg-type]


def test_devices() -> None:
    info = lento.__array_namespace_info__()
    assert info.devices() == tuple(lento.devices())
    assert info.default_device() == lento.zeros(1).device
    cpu = lento.Device("cpu:0")
    for same in ("cpu", "cpu:0", lento.Device("cpu")):
        assert cpu == same
        assert same == cpu
    assert cpu != "reference" and cpu != lento.Device("reference") and cpu != 0
    assert {cpu: 1}[lento.Device("cpu")] == 1
    assert pickle.loads(pickle.dumps(cpu)) == cpu


@pytest.mark.parametrize("dtype", [*names.DTYPES, "float16", "bfloat16"])
def test_to_device(dtype: str) -> None:
    x = lento.astype(lento.asarray([[0, 1, 2]]), dtype)
    assert x.to_device("cpu").device == "cpu"
    there = (x == x).to_device(lento.Device("reference"))
    assert there.device == "reference"
    assert there.tolist() == [[True] * 3]
    back = x.to_device("reference:0").to_device(x.device)
    assert (back.dtype, back.device, back.tolist()) == (x.dtype, x.device, x.tolist())
    moved = lento.asarray(x, device="reference")
    assert (moved.dtype, moved.device, moved.tolist()) == (x.dtype, "reference", x.tolist())


def test_to_device_refuses() -> None:
    x = lento.ones(2)
    with pytest.raises(ValueError, match="nowhere"):
        x.to_device("nowhere")
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    with pytest.raises(TypeError):
        x.to_device(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="copy=False"):
        lento.asarray(x, device="reference", copy=False)
    with pytest.raises(ValueError, match="devices"):
        _ = x + x.to_device("reference")


def test_arguments_beyond_64_bits_that_only_say_how_far() -> None:
    for far in (2**63, 2**100, -(2**63) - 1):
        assert not lento.any(lento.eye(3, k=far))
        assert lento.tril(lento.ones((2, 2)), k=far).sum().item() == (4 if far > 0 else 0)
        assert lento.triu(lento.ones((2, 2)), k=far).sum().item() == (0 if far > 0 else 4)
        assert lento.linalg.diagonal(lento.ones((2, 2)), offset=far).shape == (0,)
        assert lento.linalg.trace(lento.ones((2, 2)), offset=far).item() == 0
