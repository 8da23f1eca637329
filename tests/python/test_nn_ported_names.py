"""What PyTorch's programs have: ModuleList and ModuleDict, nn.functional, and nn.init that fills tensors in place."""

from __future__ import annotations

import pickle

import lento
import pytest
from lento import nn


def linears(count: int) -> list[nn.Linear]:
    return [nn.Linear(2, 2) for _ in range(count)]


def test_a_list_behaves_like_a_list() -> None:
    one, two, three = linears(3)
    layers = nn.ModuleList([one])
    assert layers.append(three) is layers
    layers.insert(1, two)
    assert list(layers) == [one, two, three]
    assert (len(layers), layers[0], layers[-1]) == (3, one, three)
    assert isinstance(layers[1:], nn.ModuleList)
    assert list(layers[1:]) == [two, three]
    layers[0] = three
    del layers[1]
    assert list(layers) == [three, three]
    assert layers.pop() is three
    assert list(layers + nn.ModuleList([one])) == [three, one]
    assert list(layers.extend([two])) == [three, two]
    assert one not in layers and two in layers
    assert not nn.ModuleList()


def test_a_dict_behaves_like_a_dict_and_its_keys_are_attributes() -> None:
    one, two, three = linears(3)
    parts = nn.ModuleDict({"body": one})
    parts["head"] = two
    assert (parts.body, parts["head"], list(parts), len(parts)) == (one, two, ["body", "head"], 2)
    parts.update([("body", three)])
    assert list(parts.items()) == [("body", three), ("head", two)]
    assert (list(parts.keys()), list(parts.values())) == (["body", "head"], [three, two])
    assert "head" in parts and "tail" not in parts
    assert parts.pop("head") is two
    del parts["body"]
    assert not parts
    parts.update({"a": one})
    parts.clear()
    assert list(parts) == []


def test_names_are_those_of_a_plain_list_and_dict() -> None:
    class Net(nn.Module):
        def __init__(self, make_list: type, make_dict: type) -> None:
            self.parts = make_dict({"layers": make_list(linears(12)), "norm": nn.LayerNorm(2)})

    names = list(Net(nn.ModuleList, nn.ModuleDict).state_dict())
    assert names == list(Net(list, dict).state_dict())
    assert names[-4:] == ["parts.layers.11.weight", "parts.layers.11.bias", "parts.norm.weight", "parts.norm.bias"]


def test_gradients_are_containers_of_the_same_form() -> None:
    model = nn.ModuleDict({"layers": nn.ModuleList(linears(2)), "head": nn.Linear(2, 1)})

    def loss(model: nn.ModuleDict, x: lento.Tensor) -> lento.Tensor:
        for layer in model.layers:
            x = lento.tanh(layer(x))
        return (model["head"](x) ** 2).sum()

    x = lento.ones((3, 2))
    gradient = lento.grad(loss)(model, x)
    assert isinstance(gradient, nn.ModuleDict) and isinstance(gradient.layers, nn.ModuleList)
    assert gradient.parameters().keys() == model.parameters().keys()
    before = float(loss(model, x))
    lento.optim.SGD(model, lr=0.01).step(gradient)
    assert float(loss(model, x)) < before


def test_containers_train_convert_and_pickle_as_modules() -> None:
    model = nn.ModuleList([nn.Dropout(), nn.ModuleDict({"a": nn.Linear(2, 2)})]).eval()
    assert not any(module.training for module in model.modules())
    model.to(lento.float64)
    copy = pickle.loads(pickle.dumps(model))
    assert copy[1].a.weight.dtype == lento.float64
    assert (copy[1].a.weight == model[1].a.weight).all()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: nn.ModuleList([nn.ReLU(), 3]), TypeError, r"ModuleList\(\): item 1 is a int, and no module, at "),
        (lambda: nn.ModuleList().append("x"), TypeError, r"ModuleList\(\): item 0 is a str, and no module, at "),
        (lambda: nn.ModuleDict({"a": lento.ones(2)}), TypeError, r"ModuleDict\(\): item a is a Tensor, and no module"),
        (lambda: nn.ModuleDict({"keys": nn.ReLU()}), ValueError, "'keys' is an attribute of every ModuleDict"),
        (lambda: nn.ModuleDict({"a.b": nn.ReLU()}), TypeError, "a key is a text without dots, not 'a.b'"),
        (lambda: nn.ModuleDict({"a": nn.ReLU()})["b"], KeyError, "ModuleDict: there is no 'b'; there are 'a', at "),
        (lambda: nn.ModuleList([nn.ReLU()])[1], IndexError, "out of range"),
    ],
)
def test_what_is_wrong_is_said(wrong, error, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        wrong()


def test_a_refused_module_changes_nothing() -> None:
    layers = nn.ModuleList(linears(2))
    held = list(layers)
    with pytest.raises(TypeError):
        layers.extend([nn.ReLU(), None])
    assert list(layers) == held


def test_functional_has_the_functions() -> None:
    import lento.nn.functional as F
    from lento.nn import functional

    assert F is functional
    assert F.softmax is nn.softmax and F.cross_entropy is nn.cross_entropy
    assert not hasattr(F, "Linear")


FILLING = {
    "uniform": (0.5, 2.0),
    "normal": (1.0, 0.02),
    "trunc_normal": (0.0, 0.02),
    "constant": (3.0,),
    "ones": (),
    "zeros": (),
    "xavier_uniform": (2.0,),
    "xavier_normal": (),
    "kaiming_uniform": (0.1, "fan_out"),
    "kaiming_normal": (0.0, "fan_in", "relu"),
    "orthogonal": (),
}


@pytest.mark.parametrize("name", FILLING)
@pytest.mark.parametrize("dtype", [lento.float32, lento.float64])
def test_init_in_place_fills_with_what_the_function_makes(name: str, dtype: lento.DType) -> None:
    tensor = lento.full((4, 3), -1.0, dtype=dtype)
    lento.random.seed(0)
    assert getattr(nn.init, name + "_")(tensor, *FILLING[name]) is tensor
    lento.random.seed(0)
    expected = getattr(nn.init, name)((4, 3), *FILLING[name], dtype=dtype)
    assert tensor.dtype == dtype and (tensor == expected).all()


def test_every_initializer_has_one_that_fills() -> None:
    assert {name for name in nn.init.__all__ if name.endswith("_")} == {name + "_" for name in FILLING}
    assert {name for name in nn.init.__all__ if not name.endswith("_")} == {*FILLING, "calculate_gain"}


def test_optimizers_keep_a_weight_that_is_filled_anew() -> None:
    layer = nn.Linear(2, 1)
    optimizer = lento.optim.SGD(layer, lr=1.0)
    nn.init.ones_(layer.weight)
    optimizer.step(lento.grad(lambda layer: layer(lento.ones((1, 2))).sum())(layer))
    assert layer.weight.tolist() == [[0.0, 0.0]]
    with pytest.raises(TypeError, match=r"normal_\(\): fills a tensor, not a tuple, at "):
        nn.init.normal_((2, 3))  # type: ignore[arg-type]
