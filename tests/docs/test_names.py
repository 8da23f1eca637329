"""Python and C++ have the same names, except where docs/names.md explains the difference."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from script_modules import load_script

ROOT = Path(__file__).resolve().parents[2]


names = load_script("names")


def test_every_difference_is_explained_and_the_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "names", "--check"], text=True, capture_output=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0


def compiler() -> str:
    """That of the build."""
    cache = names.BUILD / "CMakeCache.txt"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache.read_text(), flags=re.M) if cache.exists() else None
    return found[1] if found else "c++"


def compiles(code: str, tmp_path: Path) -> str:
    """What the compiler says of a file that includes public headers; empty when nothing is wrong."""
    if not shutil.which(compiler()):
        pytest.skip("needs a compiler")
    source = tmp_path / "names.cpp"
    source.write_text(code)
    folders = [f"-I{folder}" for folder in names.INCLUDE_FOLDERS]
    done = subprocess.run(
        [compiler(), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *folders, source],
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_the_counterparts_of_the_page_are_there(tmp_path: Path) -> None:
    assert compiles(names.using_declarations(names.current()), tmp_path) == ""


def test_a_counterpart_that_is_not_there_is_found(tmp_path: Path) -> None:
    pair = names.Pair("lento.nn.no_such_thing", "lento::nn::no_such_thing")
    method = names.Pair("lento.Tensor.no_such_method", "lento::Tensor::no_such_method")
    said = compiles(names.using_declarations(names.Names({"": [pair, method]}, [], [], [], [])), tmp_path)
    assert "no_such_thing" in said
    assert "no_such_method" in said


# --- reading headers ---


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("LENTO_API Tensor exp(const Tensor& x, int n = f(3));", ["exp"]),
        (
            "template <class T, class... U>\nDType result_type(const T& a, const U&... b) { return g(a); }",
            ["result_type"],
        ),
        ("inline constexpr double pi = std::numbers::pi;", ["pi"]),
        ("inline constexpr Ellipsis ellipsis{};", ["ellipsis"]),
        ("using Shape = Ints;", ["Shape"]),
        ("using nn::softmax;", ["softmax"]),
        ("enum class SyncMode : std::uint8_t { allow, warn };", ["SyncMode"]),
        ("class LENTO_API Generator final : public Base { public: void seed(int); };", ["Generator"]),
        ("template <class T>\nconcept Number = std::integral<T> || f<T>();", ["Number"]),
        ("template <class T>\n  requires(!std::same_as<T, bool>) && g<T>\nTensor tensor(T x);", ["tensor"]),
        ("template <Number T>\nT Scalar::to() const { return 0; }", []),
        ("LENTO_API Tensor operator+(const Operand& a, const Operand& b);", []),
        ("LENTO_API std::vector<std::pair<std::string, int>> rows();", ["rows"]),
        ("LENTO_API Tensor a(int i);  // Tensor b(int j);\n/* int c(); */", ["a"]),
        ("struct TopKResult { Tensor values; };\nstruct TopKResult topk(int k);", ["TopKResult", "topk"]),
        ('void f(std::function<void(int)> g, const char* text = "{ ( ; //");\nint h();', ["f", "h"]),
        ("#define MACRO(x) \\\n  void x()\nint after();", ["after"]),
    ],
)
def test_names_of_declarations(code: str, expected: list[str]) -> None:
    scanned = names.scan(names.without_comments(f"namespace lento {{\n{code}\n}}"))
    assert [name for _, statement in scanned for name in names.declared(statement)] == expected


def test_members_of_tensor_are_public_ones() -> None:
    code = """namespace lento {
        class LENTO_API Tensor {
          int hidden_by_default();
         public:
          Tensor() = default;
          DType dtype() const { return read(); }
          template <Number T> T item(int site = here()) const;
         private:
          void release();
        };
        class LENTO_API Other { public: int inner(); };
        int outside();
        namespace nn { int relu(); }
    }"""
    found: dict[str, list[str]] = {}
    for path, statement in names.scan(names.without_comments(code)):
        found.setdefault(path, []).extend(names.declared(statement))
    assert found["lento::Tensor"] == ["Tensor", "dtype", "item"]
    assert found["lento"] == ["Tensor", "Other", "outside"]
    assert found["lento::nn"] == ["relu"]


# --- the comparison ---


def compare(python: str, cpp: str, **given: Any) -> Any:
    nothing = {"spelled": [], "only_python": [], "only_cpp": []}
    python_sides: dict[str, set[str]] = {place: set() for place in names.PLACES}
    cpp_sides: dict[str, set[str]] = {place: set() for place in names.PLACES.values()}
    python_sides["nn"], cpp_sides["nn"] = set(python.split()), set(cpp.split())
    return names.compare(python_sides, cpp_sides, {**nothing, **given})


def test_a_name_of_one_side_needs_an_explanation() -> None:
    assert compare("a", "a").wrong == []
    assert compare("a b", "a").wrong == ["lento.nn.b has no C++ counterpart and no explanation"]
    assert compare("a", "a b").wrong == ["lento::nn::b has no Python counterpart and no explanation"]
    assert compare("a b", "a", only_python=[{"why": "so", "names": ["lento.nn.b"]}]).only_python == [
        ("lento.nn.b", "so")
    ]
    assert compare("a", "a B", only_cpp=[{"why": "so", "names": ["lento::nn::[A-Z]*"]}]).wrong == []


def test_an_explanation_of_what_both_have_is_wrong() -> None:
    both = compare("a", "a", only_python=[{"why": "so", "names": ["lento.nn.a"]}])
    assert both.wrong == ["lento.nn.a is in C++ too, but is explained as 'so'"]
    both = compare("a", "a", only_cpp=[{"why": "so", "names": ["lento::nn::a"]}])
    assert both.wrong == ["lento::nn::a is in Python too, but is explained as 'so'"]
    none = compare("a", "a", only_cpp=[{"why": "so", "names": ["lento::nn::b"]}])
    assert none.wrong == ["lento::nn::b is explained, and nothing has this name"]


def test_another_spelling_counts_as_a_counterpart() -> None:
    spelled = [{"why": "so", "names": {"lento.nn.scope": "lento::nn::Scope"}}]
    result = compare("scope", "Scope", spelled=spelled)
    assert result.wrong == []
    assert result.spelled == [names.Pair("lento.nn.scope", "lento::nn::Scope", "so")]
    assert "namespace names_0 { using ::lento::nn::Scope; }" in names.using_declarations(result)
    needless = [{"why": "so", "names": {"lento.nn.scope": "lento::nn::scope"}}]
    assert "needs no other spelling" in compare("scope", "scope", spelled=needless).wrong[0]
