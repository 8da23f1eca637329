"""lento.nn.Module as people know it: what is in it by name, hooks, and what is a parameter and what is not."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from typing import Any

import lento
import pytest
from lento import nn


class Net(nn.Module):
    def __init__(self) -> None:
        self.layers = [nn.Linear(2, 3), nn.Linear(3, 2)]
        self.head = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.again = self.layers[0]

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        for layer in self.layers:
            x = layer(x)
        result: lento.Tensor = self.head(x)
        return result


# --- what is in it ---


def test_modules_inside_have_names() -> None:
    net = Net()
    assert [name for name, _ in net.named_modules()] == ["", "layers.0", "layers.1", "head", "head.0", "head.1"]
    assert [module for _, module in net.named_modules()] == list(net.modules())
    assert [name for name, _ in net.named_children()] == ["layers.0", "layers.1", "head"]
    assert list(net.children()) == [*net.layers, net.head]
    assert list(nn.ReLU().children()) == []


def test_named_parameters_and_buffers_are_pairs() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert dict(net.named_parameters()) == net.parameters()
    assert [name for name, _ in net.named_buffers()] == list(net.buffers())
    assert sum(p.numel() for _, p in net.named_parameters()) == 15


def test_apply_goes_inner_ones_first() -> None:
    net = Net()
    seen: list[nn.Module] = []
    assert net.apply(seen.append) is net
    assert seen == [*net.layers, net.head[0], net.head[1], net.head, net]


def test_apply_initialises_weights() -> None:
    def zero(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            module.weight[...] = 0

    assert not any(p.any() for name, p in Net().apply(zero).named_parameters() if name.endswith("weight"))


def test_a_module_that_points_back_is_walked_once() -> None:
    net = Net()
    net.layers[0].owner = net  # type: ignore[attr-defined]
    assert len(list(net.named_modules())) == 6
    seen: list[nn.Module] = []
    net.apply(seen.append)
    assert len(seen) == 6


# --- what is a parameter ---


@dataclasses.dataclass
class Both:
    x: lento.Tensor
    y: lento.Tensor


class Keeping(nn.Module):
    def __init__(self) -> None:
        self.weight = lento.ones(2)
        self.last: Any = None
        self.pieces: Any = []

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        y = x * self.weight
        self.last = y
        self.pieces = [*self.pieces, y]
        self.states = {"y": (y, y + 1)}
        self.both = Both(x, y)
        self.count = lento.asarray(3)
        return y


def test_what_forward_keeps_is_no_parameter() -> None:
    model = Keeping()
    for _ in range(2):
        model(lento.ones(2))
        assert model.last.tolist() == [1, 1]
    assert len(model.pieces) == 2
    assert list(model.parameters()) == list(model.state_dict()) == ["weight"]
    assert not model.buffers()
    model.to(lento.float16)
    assert model.weight.dtype == lento.float16
    optimizer = lento.optim.SGD(model, lr=0.1)
    loss = lambda model: model(lento.ones(2)).sum()  # noqa: E731
    optimizer.step(lento.grad(loss)(model))
    model(lento.ones(2))
    optimizer.step(lento.grad(loss)(model))
    assert copy.deepcopy(model).state_dict().keys() == {"weight"}


def test_what_forward_keeps_may_become_something_else() -> None:
    class Changing(nn.Module):
        def forward(self, x: Any) -> Any:
            self.kept = x
            return x

    model = Changing()
    for value in (lento.ones(2), (lento.ones(1), 3), None, 3, lento.ones(2)):
        model(value)
    assert not model.state_dict()


def test_what_was_a_parameter_stays_one_in_forward() -> None:
    class Decaying(nn.Module):
        def __init__(self) -> None:
            self.weight = lento.ones(2)
            self.parts = [lento.ones(1)]

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            self.weight = self.weight * 0.5
            self.parts = [part * 2 for part in self.parts]
            return x * self.weight

    model = Decaying()
    model(lento.ones(2))
    assert {name: value.tolist() for name, value in model.state_dict().items()} == {
        "weight": [0.5, 0.5],
        "parts.0": [2.0],
    }


def test_a_tensor_set_from_outside_is_a_parameter() -> None:
    model = Keeping()
    model(lento.ones(2))
    model.last = lento.zeros(2)
    assert list(model.parameters()) == ["weight", "last"]
    model.extra = lento.ones(1)  # type: ignore[attr-defined]
    assert "extra" in model.parameters()


def test_modules_made_in_forward_count() -> None:
    class Lazy(nn.Module):
        def __init__(self) -> None:
            self.layer: Any = None
            self.more: Any = None

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            if self.layer is None:
                self.layer = nn.Linear(x.shape[-1], 2)
                self.more = [nn.Linear(2, 2)]
                self.register_parameter("scale", lento.ones(1))
            result: lento.Tensor = self.more[0](self.layer(x)) * self.scale
            return result

    model = Lazy()
    model(lento.ones((1, 3)))
    assert list(model.parameters()) == ["scale", "layer.weight", "layer.bias", "more.0.weight", "more.0.bias"]


def test_a_call_in_another_thread_changes_nothing_here() -> None:
    inside, done = threading.Event(), threading.Event()

    class Waiting(nn.Module):
        def forward(self) -> None:
            inside.set()
            done.wait()

    model = Waiting()
    thread = threading.Thread(target=model)
    thread.start()
    inside.wait()
    model.weight = lento.ones(2)  # type: ignore[attr-defined]
    done.set()
    thread.join()
    assert list(model.parameters()) == ["weight"]


def test_after_a_failed_call_tensors_are_parameters_again() -> None:
    class Failing(nn.Module):
        def forward(self) -> None:
            raise RuntimeError

    model = Failing()
    with pytest.raises(RuntimeError):
        model()
    model.weight = lento.ones(2)  # type: ignore[attr-defined]
    assert list(model.parameters()) == ["weight"]


# --- registering ---


def test_register_buffer_and_parameter() -> None:
    model = Keeping()
    model.register_buffer("mask", lento.ones(2))
    model.register_buffer("nothing", None)
    model.register_buffer("table", lento.ones(3), persistent=False)
    model.register_parameter("bias", lento.zeros(2))
    model.register_parameter("none", None)
    assert list(model.parameters()) == ["weight", "bias"]
    assert list(model.buffers()) == ["mask"]
    assert model.table.tolist() == [1, 1, 1]  # type: ignore[attr-defined]
    assert list(model.state_dict()) == ["weight", "bias", "mask"]
    assert model.to(lento.float16).table.dtype == lento.float16  # type: ignore[attr-defined]
    with pytest.raises(lento.DTypeError, match=r"register_parameter\(\): steps is int64, and not floating, at "):
        model.register_parameter("steps", lento.asarray(1))


def test_parameter_is_the_tensor() -> None:
    x = lento.ones(2)
    assert nn.Parameter(x) is x
    model = Keeping()
    model.bias = nn.Parameter(lento.zeros(2))  # type: ignore[attr-defined]
    model.fixed = nn.Parameter(lento.zeros(2), requires_grad=False)  # type: ignore[attr-defined]
    assert list(model.parameters()) == ["weight", "bias"]
    assert list(model.buffers()) == ["fixed"]


def test_to_takes_a_device() -> None:
    model = nn.Linear(2, 3)
    weight = model.weight
    home = str(weight.device)
    assert model.to(home).to(weight.device).to(device=home).weight is weight
    assert model.to("cpu", None).to(dtype="float16", device="cpu").weight.dtype == lento.float16
    with pytest.raises(lento.DeviceError, match="cuda"):
        model.to("cuda")


# --- hooks ---


def test_forward_hooks_see_and_change_calls() -> None:
    layer = nn.Linear(2, 3)
    seen: list[Any] = []
    before = layer.register_forward_pre_hook(lambda module, args: seen.append((module, args)))
    after = layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    x = lento.ones(2)
    layer(x)
    assert seen == [(layer, (x,)), (3,)]
    before.remove()
    after.remove()
    after.remove()
    layer(x)
    assert len(seen) == 2


def test_hooks_may_replace_arguments_and_results() -> None:
    layer = nn.ReLU()
    with layer.register_forward_pre_hook(lambda _, args: args[0] - 1):
        assert layer(lento.asarray([1.0, 3.0])).tolist() == [0, 2]
        layer.register_forward_pre_hook(lambda _, args: (args[0] * 2,))
        assert layer(lento.asarray([1.0, 3.0])).tolist() == [0, 4]
    layer.register_forward_hook(lambda _, __, output: output + 1)
    assert layer(lento.asarray([1.0])).tolist() == [3]


def test_hooks_run_inside_of_grad_and_of_sequential() -> None:
    seen: list[str] = []
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model[1].register_forward_hook(lambda *_: seen.append("inner"))
    model.register_forward_hook(lambda *_: seen.append("outer"))
    lento.grad(lambda model: model(lento.ones(2)).sum())(model)
    assert seen == ["inner", "outer"]


def test_a_hook_is_neither_state_nor_a_child() -> None:
    model = nn.Linear(2, 3)
    model.register_forward_hook(nn.Linear(1, 1).forward)
    assert list(model.state_dict()) == ["weight", "bias"]
    assert list(model.children()) == []
    assert repr(model) == "Linear(2, 3)"


def test_a_module_with_a_hook_is_pickled_with_it() -> None:
    model = nn.ReLU()
    model.register_forward_hook(twice)
    assert pickle.loads(pickle.dumps(model))(lento.ones(1)).tolist() == [2]


def twice(_: nn.Module, __: tuple[Any, ...], output: lento.Tensor) -> lento.Tensor:
    return output * 2


# --- buffers that come and go ---


class Masked(nn.Module):
    def __init__(self, persistent: bool = True) -> None:
        self.weight = lento.ones(2)
        self.register_buffer("mask", None, persistent)

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        self.mask = lento.zeros(2)
        return x * self.weight + self.mask


def test_a_buffer_that_was_none_is_a_buffer_later() -> None:
    model = Masked()
    assert list(model.state_dict()) == ["weight"]
    model.mask = lento.zeros(2)
    assert (list(model.parameters()), list(model.buffers())) == (["weight"], ["mask"])
    called = Masked()
    called(lento.ones(2))
    assert (list(called.parameters()), list(called.buffers())) == (["weight"], ["mask"])


def test_what_is_assigned_to_a_buffer_is_a_constant() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            self.w = lento.ones(2)
            self.h = nn.Buffer(None)

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            self.h = self.w * x
            return (self.h * self.w).sum()

    model = Keeps()
    for _ in range(2):
        assert lento.grad(lambda m: m(lento.full(2, 3.0)))(model).w.tolist() == [3, 3]
        model.h = lento.zeros(2)


@pytest.mark.parametrize("later", [False, True])
def test_a_tensor_that_became_a_buffer_is_not_written_over(later: bool) -> None:
    model, given = nn.Module(), lento.zeros(2)
    model.h = nn.Buffer(None if later else given)
    if later:
        model.h = given
    model.h = lento.ones(2)
    model.h += 1
    assert (model.h.tolist(), given.tolist()) == ([2, 2], [0, 0])


def test_a_buffer_that_is_not_persistent_stays_so_over_none() -> None:
    model = Masked(persistent=False)
    model.mask = lento.zeros(2)
    assert list(model.state_dict()) == ["weight"]
    model.mask = None
    model.to(lento.bfloat16)
    model.mask = lento.zeros(2)
    assert (list(model.parameters()), list(model.buffers())) == (["weight"], [])
    assert model.to(lento.float16).mask.dtype == lento.float16


def test_a_deleted_buffer_leaves_nothing_behind() -> None:
    model = Masked(persistent=False)
    model.mask = lento.zeros(2)
    del model.mask
    assert model.to(lento.bfloat16).weight.dtype == lento.bfloat16
    model.mask = lento.ones(2)
    assert list(model.parameters()) == ["weight", "mask"]
    with pytest.raises(AttributeError, match="nothing"):
        del model.nothing


def test_to_takes_a_device_and_a_dtype_in_either_order() -> None:
    device = lento.Device("cpu")
    for args in (("cpu", lento.bfloat16), (lento.bfloat16, "cpu"), (device, "bfloat16"), ("bfloat16", device)):
        assert nn.Linear(2, 2).to(*args).weight.dtype == lento.bfloat16  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Linear\.to\(\): float16 is no device"):
        nn.Linear(2, 2).to(lento.bfloat16, lento.float16)


def test_a_buffer_takes_no_other_attributes_place() -> None:
    model = nn.Module()
    model.part = nn.Linear(1, 1)
    for name, text in (
        ("part", "has a part already"),
        ("a.b", "no name of an attribute"),
        ("", "no name"),
    ):
        with pytest.raises(ValueError, match=text):
            model.register_buffer(name, lento.ones(2))
    model.register_buffer("mean", lento.ones(2))
    model.register_buffer("mean", lento.zeros(3))
    assert isinstance(model.part, nn.Linear)
    assert model.buffers()["mean"].shape == (3,)


# --- what forward puts into containers ---


class Remembering(nn.Module):
    """With containers that forward fills, and one that has a parameter from the start."""

    def __init__(self) -> None:
        self.layer = nn.Linear(2, 2)
        self.history: list[Any] = []
        self.cache: dict[str, Any] = {}
        self.parts: list[Any] = []
        self.parts.append(lento.ones(1))

    def forward(self, x: lento.Tensor) -> lento.Tensor:
        y: lento.Tensor = self.layer(x) * self.parts[0]
        self.history.append(y)
        self.cache["last"] = y
        return y


REMEMBERED = ["parts.0", "layer.weight", "layer.bias"]


def names_of(model: nn.Module) -> list[set[str]]:
    return [set(model.parameters()) | set(model.buffers()), set(model.state_dict())]


def test_what_forward_puts_into_a_container_without_tensors_is_no_state() -> None:
    model = Remembering()
    optimizer = lento.optim.SGD(model, lr=0.1)
    for i in range(1, 4):
        gradients = lento.grad(lambda model: model(lento.ones(2)).sum())(model)
        optimizer.step(gradients)
        assert len(model.history) == i  # one list for all copies
    model(lento.ones(2))
    assert len(model.history) == 4
    assert names_of(model) == names_of(copy.deepcopy(model)) == [set(REMEMBERED)] * 2
    assert not model.buffers()
    model.load_state_dict(model.state_dict())
    outer = nn.Sequential(Remembering())
    outer(lento.ones(2))
    assert names_of(outer) == [{f"0.{name}" for name in REMEMBERED}] * 2


def test_a_container_that_is_emptied_is_filled_by_forward_again() -> None:
    model = Remembering()
    model(lento.ones(2))
    model.history = []
    model.cache.clear()
    model(lento.ones(2))
    assert names_of(model) == [set(REMEMBERED)] * 2
    model.history = [lento.ones(1)]  # with a tensor it holds a parameter
    assert names_of(model) == [{*REMEMBERED, "history.0"}] * 2


def test_modules_that_forward_puts_into_a_container_count() -> None:
    class Growing(nn.Module):
        def __init__(self) -> None:
            self.layers: dict[str, Any] = {}

        def forward(self, x: lento.Tensor) -> Any:
            return self.layers.setdefault("first", nn.Linear(2, 2))(x)

    model = Growing()
    model(lento.ones(2))
    assert list(model.parameters()) == list(model.state_dict()) == ["layers.first.weight", "layers.first.bias"]
    gradient = lento.grad(lambda model: model(lento.ones(2)).sum())(model)
    assert gradient.layers["first"].bias.tolist() == [1, 1]


# --- PyTorch's methods ---


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("cpu", "float32")],
)
def test_methods_named_after_dtypes_convert_in_place(name: str, dtype: str) -> None:
    model = Net()
    assert getattr(model, name)() is model
    assert {parameter.dtype.name for parameter in model.parameters().values()} == {dtype}


@pytest.mark.parametrize("name", ["modules", "children", "parameters"])
def test_an_attribute_may_be_called_as_a_method_of_modules(name: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            setattr(self, name, [nn.Linear(2, 2)])

        def forward(self, x: lento.Tensor) -> lento.Tensor:
            return getattr(self, name)[0](x).sum()

    net = Net()
    gradients = lento.grad(lambda net: net(lento.ones((1, 2))))(net)
    assert getattr(gradients, name)[0].bias.tolist() == [1, 1]
    assert not net.eval().apply(lambda module: None).to(lento.float64).training
    assert getattr(net, name)[0].weight.dtype == lento.float64
