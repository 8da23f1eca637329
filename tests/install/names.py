"""names.py --prefix PREFIX --scratch FOLDER COMPILER...: that Lento's names live beside those of std.

Every function of namespace lento is looked up where both namespaces are in use. A name that is a function here and a
type there cannot be used without its namespace: the table below names all of them. For the others, a call with a tensor
that compiles as lento::f(...) must compile as f(...) and give the same type.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from outside import Compiler, arguments

# Functions of Lento that are classes of std, or std itself. docs/cpp.md lists them.
TYPES_OF_STD = {
    "any", "complex", "greater", "greater_equal", "identity", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "slice", "stack", "std",
}  # fmt: skip

# Variables, which a user's local variable may hide; docs/cpp.md lists them too.
CONSTANTS = {"e", "pi", "inf", "ellipsis", "newaxis"}

HEAD = """#include <bits/stdc++.h>
#include <lento/lento.h>
#include <lento/dlpack.h>
#include <lento/prefetch.h>
"""
BOTH = "using namespace lento;\nusing namespace std;\n"
CALLS = ["x", "x, x", "x, 1", "x, {0, 1}", "x, x, x", "x, 0, 1", "x, 1.5", "1.5, x", "x[{0}]", "x[{0}], x"]


def functions(prefix: Path) -> set[str]:
    """The names of the functions that namespace lento itself declares."""
    found: set[str] = set()
    for path in (prefix / "include/lento").rglob("*.h"):
        text = re.sub(r"//.*", "", path.read_text())
        if "namespace lento::" in text:  # nothing of it is in namespace lento itself
            continue
        # Other namespaces inside are no part of it; an op of one has a header of its own below ops/<namespace>.
        text = re.sub(
            r"namespace [\w:]+ \{.*?\n\}  *", "", re.sub(r"namespace lento \{", "", text, count=1), flags=re.S
        )
        if path.parent.name in {"include", "lento", "ops"}:
            found |= set(re.findall(r"^(?:LENTO_API )[\w:<>, &*]+?[ &*](\w+)\(", text, flags=re.M))
    return found


def hidden_by_locals(compiler: Compiler, names: list[str], prefix: Path) -> set[str]:
    """Those of which a compiler with -Wshadow says that a local variable of this name hides them."""
    head = "#include <lento/lento.h>\nusing namespace lento;\n"
    text = head + "".join(f"inline int local_{name}() {{ int {name} = 0; return {name}; }}\n" for name in names)
    result = compiler.check(text, prefix, "-Wshadow")
    assert result.returncode == 0, result.stderr
    first = head.count("\n") + 1
    return {names[int(line) - first] for line in re.findall(r":(\d+):\d+: warning: .*shadow", result.stderr)}


def program(names: list[str], directives: str) -> str:
    """Fails to compile where a call with a tensor needs lento:: or means something else without."""
    lines = [
        HEAD + directives,
        "#define SAME(name, ...) \\",
        "  static_assert([]<class X>(X*) { \\",
        "    if constexpr (requires(X x) { lento::name(__VA_ARGS__); }) { \\",
        "      if constexpr (requires(X x) { name(__VA_ARGS__); }) { \\",
        "        return requires(X x) { \\",
        "          requires std::same_as<decltype(lento::name(__VA_ARGS__)), decltype(name(__VA_ARGS__))>; \\",
        "        }; \\",
        "      } else { \\",
        "        return false; \\",
        "      } \\",
        "    } else { \\",
        "      return true; \\",
        "    } \\",
        '  }(static_cast<lento::Tensor*>(nullptr)), #name "(" #__VA_ARGS__ ")");',
    ]
    lines += [f"SAME({name}, {call})" for name in names for call in CALLS]
    return "\n".join(lines) + "\n"


def lookups(names: list[str]) -> str:
    """A program that does nothing but look up the names, each on a line of its own."""
    return HEAD + BOTH + "".join(f"void use_{name}(decltype([](auto x) {{ return {name}(x); }}));\n" for name in names)


def main() -> None:
    options = arguments()
    names = sorted(functions(options.prefix))
    print(f"{len(names)} functions of namespace lento")
    assert {"exp", "sort", "mean", "eval", "from_host"} <= set(names), "the headers were not understood"
    for compiler in map(Compiler, options.compilers):
        if not compiler.found:
            print(f"skipped: {compiler.name} is not installed")
            continue
        result = compiler.check(lookups(names), options.prefix)
        clashes = set(re.findall(r"reference to [‘'](\w+)[’'] is ambiguous", result.stderr))
        print(f"{compiler.name}: these need their namespace: {sorted(clashes)}")
        assert clashes <= TYPES_OF_STD, f"not in the table: {sorted(clashes - TYPES_OF_STD)}"
        assert clashes == TYPES_OF_STD & set(names), f"no clash any more: {sorted(TYPES_OF_STD - clashes)}"
        hidden = hidden_by_locals(compiler, sorted({*names, *CONSTANTS} - {"std"}), options.prefix)
        print(f"{compiler.name}: with -Wshadow it tells of local variables named {sorted(hidden)}")
        assert hidden <= CONSTANTS, f"not in the table of constants: {sorted(hidden - CONSTANTS)}"
        assert "clang" not in compiler.name or hidden == CONSTANTS, f"no longer: {sorted(CONSTANTS - hidden)}"
        # With both namespaces, and with none: then the tensor leads to lento (argument-dependent lookup).
        for directives, unusable in ((BOTH, clashes), ("", {"std"})):
            result = compiler.check(
                program([name for name in names if name not in unusable], directives), options.prefix
            )
            failed = re.findall(r"assertion failed.*?(\w+\([^\n]*\))", result.stderr) or result.stderr[:2000]
            assert result.returncode == 0, f"{compiler.name}: not the same without lento::, or nothing: {failed}"


if __name__ == "__main__":
    sys.exit(main())
