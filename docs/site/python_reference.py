"""The pages of the Python reference: which names are on which page, in which order."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import lento

# What the catalogue does not hold, by what it is for.
PARTS: dict[str, list[str]] = {
    "Tensors and dtypes": [
        "asarray", "from_dlpack", "DType", "Device", "devices", "device", "default_device",
        "set_default_device", "broadcast_shapes", "can_cast", "promote_types", "result_type", "isdtype", "finfo",
        "iinfo", "get_printoptions", "set_printoptions",
    ],
    "Evaluation": [
        "step", "eval", "wait", "add_step_closure", "run_step_closures", "wait_closures", "options",
        "get_num_threads", "set_num_threads", "memory", "set_memory_limit", "reset_peak_memory",
    ],
    "Seeing what happens": ["dump", "explain", "scope", "graph_key", "live_tensors", "show_versions"],
    "Derivatives and vmap": [
        "grad", "value_and_grad", "vjp", "jvp", "linearize", "stop_gradient", "custom_gradient", "checkpoint", "vmap",
    ],
    "Files and data": ["save", "load", "prefetch"],
}  # fmt: skip


@dataclass
class Op:
    """An op of docs/ops.md."""

    name: str  # lento.nn.relu
    family: str
    others: list[str] = field(default_factory=list)  # swish, lento.silu


def catalogue(text: str) -> list[Op]:
    """The ops of docs/ops.md that Python has; primitives are not among them."""
    ops: list[Op] = []
    family = ""
    for line in text.splitlines():
        if line.startswith("## "):
            family = line.removeprefix("## ")
        elif line.startswith("### "):
            ops.append(Op(line.removeprefix("### "), family))
        elif line.startswith("- also: "):
            ops[-1].others = re.findall(r"(?:^- also: |, )`([\w.]+)`", line)
    return [op for op in ops if not op.name.startswith("lento.prim.")]


def public_names(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    # What a module imports for itself is not its own. Constants belong to no module.
    things = ((name, getattr(module, name)) for name in names)
    return [
        name
        for name, thing in things
        if not inspect.ismodule(thing) and (getattr(thing, "__module__", None) or "lento").startswith("lento")
    ]


def heading(text: str, line: str = "-") -> str:
    return f"{text}\n{line * len(text)}\n"


def stub_signatures() -> dict[str, str]:
    """Arguments and results of the extension's functions, as its stub has them."""
    module = ast.parse(Path(lento.__file__).with_name("_core.pyi").read_text())
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.returns]
    return {
        node.name: f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}".replace("builtins.", "")
        for node in functions
    }


STUBS = stub_signatures()


def entry(name: str, thing: Any) -> str:
    if type(thing).__name__ == "nb_func":  # has no signature that Python could ask for
        return f".. autofunction:: {name}{STUBS[thing.__name__]}\n"
    if inspect.isfunction(thing):
        # One line that says it all. Some functions have several forms of arguments, which are for type checkers.
        signature = str(inspect.signature(thing)).replace("'", "")  # annotations are strings
        return f".. autofunction:: {name}{signature}\n"
    kind = "autoexception" if inspect.isclass(thing) and issubclass(thing, BaseException) else "autofunction"
    if kind == "autofunction" and inspect.isclass(thing):
        return f".. autoclass:: {name}\n   :members:\n"
    return f".. {kind}:: {name}\n"


def summary(module: ModuleType, names: list[str]) -> str:
    """A table of the names, each with its first sentence."""
    short = [name.removeprefix(module.__name__ + ".") for name in names]
    lines = [f".. currentmodule:: {module.__name__}", "", ".. autosummary::", "   :nosignatures:", ""]
    return "\n".join([*lines, *(f"   {name}" for name in short), ""])


def module_text(module: ModuleType) -> str:
    return f".. automodule:: {module.__name__}\n   :no-members:\n"


def table_of_aliases(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: auto", ""]
    for alias, name in rows:
        lines += [f"   * - ``{alias}``", f"     - :func:`{name}`"]
    return "\n".join([*lines, ""])


class Reference:
    """Hands out every public name once."""

    def __init__(self, ops: list[Op]) -> None:
        self.ops = ops
        self.by_last_name: dict[str, list[Op]] = {}
        for op in ops:
            for name in [op.name, *op.others]:
                self.by_last_name.setdefault(name.rpartition(".")[2], []).append(op)

    def alias(self, module: ModuleType, name: str) -> str | None:
        """The main name of an op that this module has under another name."""
        documentation = getattr(module, name).__doc__
        for op in self.by_last_name.get(name, []):
            space, _, last = op.name.removeprefix("lento.").rpartition(".")
            main = getattr(getattr(lento, space) if space else lento, last)
            if main.__doc__ == documentation:
                return op.name
        return None

    def split(self, module: ModuleType) -> tuple[dict[str, list[str]], list[str], list[tuple[str, str]]]:
        """A module's ops by family, its other names, and its other names of ops."""
        prefix = module.__name__ + "."
        families: dict[str, list[str]] = {}
        rest, aliases = [], []
        names = public_names(module)
        for op in self.ops:
            if op.name.rpartition(".")[0] == module.__name__ and op.name.removeprefix(prefix) in names:
                families.setdefault(op.family, []).append(op.name)
        main = {name for members in families.values() for name in members}
        for name in names:
            if prefix + name in main:
                continue
            op = self.alias(module, name)
            if op:
                aliases.append((prefix + name, op))
            else:
                rest.append(name)
        return families, rest, aliases


def entries(module: ModuleType, names: list[str]) -> str:
    prefix = module.__name__ + "."
    return "\n".join(entry(name, getattr(module, name.removeprefix(prefix))) for name in names)


def module_page(module: ModuleType, reference: Reference) -> str:
    families, rest, aliases = reference.split(module)
    prefix = module.__name__ + "."
    parts = [heading(module.__name__, "="), module_text(module)]
    own = [prefix + name for name in rest]
    if own:
        parts += [summary(module, own), entries(module, own)]
    for family, names in families.items():
        title = [] if len(families) == 1 else [heading(family)]
        parts += [*title, summary(module, names), entries(module, names)]
    if aliases:
        parts += [heading("Other names"), table_of_aliases(aliases)]
    return "\n".join(parts)


def tensor_page(reference: Reference) -> str:
    """Tensor: attributes, what is its own, and the ops that are methods."""
    last_names = set(reference.by_last_name)
    names = [name for name in vars(lento.Tensor) if not name.startswith("_") and hasattr(lento.Tensor, name)]
    attributes = [name for name in names if not callable(getattr(lento.Tensor, name))]
    methods = sorted(name for name in names if name not in attributes)
    own = [name for name in methods if name not in last_names]
    ops = [name for name in methods if name in last_names]
    parts = [heading("lento.Tensor", "="), ".. autoclass:: lento.Tensor\n   :no-members:\n"]
    for title, group in [("Attributes", sorted(attributes)), ("Values and memory", own), ("Ops", ops)]:
        kind = "autoattribute" if title == "Attributes" else "automethod"
        full = [f"lento.Tensor.{name}" for name in group]
        parts += [heading(title), summary(lento, full), "\n".join(f".. {kind}:: {name}\n" for name in full)]
    return "\n".join(parts)


def slug(text: str) -> str:
    return text.lower().replace(" ", "-")


def main_module_pages(reference: Reference) -> dict[str, str]:
    """The pages of `lento` itself: one for each part and family."""
    families, rest, aliases = reference.split(lento)
    pages: dict[str, str] = {}
    placed = {name for members in PARTS.values() for name in members}
    elsewhere = {"Tensor", "Generator", *lento.errors.__all__, *placed}
    # What nobody has put into a part is not lost.
    new = [name for name in rest if name not in elsewhere and callable(getattr(lento, name))]
    for title, members in {**PARTS, **({"More": new} if new else {})}.items():
        names = [f"lento.{name}" for name in members]
        text = [heading(title, "="), summary(lento, names), entries(lento, names)]
        pages[f"api/{slug(title)}.rst"] = "\n".join(text)
    # Constants and dtypes have no docstring of their own.
    constants = [name for name in rest if not callable(getattr(lento, name))]
    constant_rows = "".join(f"``lento.{name}`` = {getattr(lento, name)!r}\n\n" for name in constants)
    pages["api/tensors-and-dtypes.rst"] += "\n" + heading("Constants") + "\n" + constant_rows
    for family, names in families.items():
        text = [heading(family, "="), summary(lento, names), entries(lento, names)]
        pages[f"api/{slug(family)}.rst"] = "\n".join(text)
    pages["api/other-names.rst"] = "\n".join(
        [
            heading("Other names", "="),
            "Functions of ``lento`` that are described under another name: the ones of other modules, and names that\n"
            "other libraries have for them.\n",
            table_of_aliases(aliases),
        ]
    )
    return pages


INDEX = """Python
======

Everything public in the package ``lento``, made from its docstrings, whose examples the tests run. Ops also stand in
the :doc:`catalogue <../ops>`, with their dtypes and what they are made of.

"""


def tree(caption: str, pages: list[str]) -> str:
    lines = [".. toctree::", "   :maxdepth: 1", f"   :caption: {caption}", ""]
    return "\n".join([*lines, *(f"   {page.removeprefix('api/').removesuffix('.rst')}" for page in pages), "", ""])


def module_pages(modules: list[ModuleType], ops: str) -> dict[str, str]:
    """Text by file name."""
    reference = Reference(catalogue(ops))
    pages = main_module_pages(reference)
    tensor = {"api/tensor.rst": tensor_page(reference)}
    others = {f"api/{module.__name__}.rst": module_page(module, reference) for module in modules if module is not lento}
    parts = [name for name in pages if name in {f"api/{slug(title)}.rst" for title in [*PARTS, "More"]}]
    functions = [name for name in pages if name not in parts]
    index = INDEX + tree("lento", [*tensor, *parts]) + tree("Functions of lento", functions)
    index += tree("Modules", list(others))
    return {**tensor, **pages, **others, "api/python.rst": index}
