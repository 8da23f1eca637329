"""contents.py --prefix PREFIX --scratch FOLDER: what `make install` puts there, and nothing else.

The library exports what the public headers declare, has no debug information, is of a known size and brings the
libraries that it needs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from outside import arguments, run

MOST_BYTES = 40_000_000


def output(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def exported(library: Path) -> list[str]:
    """What the library defines for others, without arguments: lento::Tensor::item."""
    lines = output("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
    symbols = [line.split(maxsplit=2)[2] for line in lines if not re.search(r" A \w+_[\d.]+$", line)]
    return [re.sub(r"@@?\w+_[\d.]+$", "", symbol) for symbol in symbols]


def path_of(symbol: str) -> list[str]:
    """The words of a name: lento, Tensor, item. Of type information and vtables: those of the class."""
    symbol = re.sub(r"^(typeinfo name|typeinfo|vtable|(non-)?virtual thunk|guard variable) (for|to) ", "", symbol)
    symbol = symbol.replace("lento::operator()", "lento::operator_call").replace("(anonymous namespace)", "anonymous")
    symbol = re.sub(r"operator\W+?\(", "operator(", symbol)
    symbol = symbol.replace("[abi:cxx11]", "").split("(")[0]
    while "<" in symbol:  # arguments of templates
        shorter = re.sub(r"<[^<>]*>", "", symbol)
        if shorter == symbol:
            break
        symbol = shorter
    return symbol.split(" ")[-1].split("::")


def exports_what_the_headers_declare(prefix: Path, library: Path) -> None:
    text = "".join(
        path.read_text() for path in (prefix / "include/lento").rglob("*.*") if path.suffix in {".h", ".inc"}
    )
    text = re.sub(r"//.*", "", text)
    declared = {"operator"} | set(re.findall(r"(\w+)\(", text))
    declared |= set(re.findall(r"(?:class|struct) (?:LENTO_API )?(\w+)", text))
    declared |= set(re.findall(r"LENTO_API extern [^;]*?(\w+);", text))
    declared |= {word for name in re.findall(r"namespace ([\w:]+)", text) for word in name.split("::")}
    symbols = exported(library)
    foreign = [symbol for symbol in symbols if path_of(symbol)[0] != "lento"]
    assert not foreign, f"names of others are exported: {foreign[:10]}"
    hidden = [symbol for symbol in symbols if not {word.lstrip("~") for word in path_of(symbol)} <= declared]
    assert not hidden, f"exported, but in no public header: {hidden[:20]}"
    names = {"::".join(path_of(symbol)) for symbol in symbols}
    assert {"lento::exp", "lento::nn::softmax", "lento::Tensor::to_string", "lento::ShapeError"} <= names
    print(f"{len(symbols)} symbols are exported")


def is_stripped_and_small(library: Path) -> None:
    sections = output("readelf", "--section-headers", "--wide", library)
    assert ".debug_" not in sections and ".symtab" not in sections, "it has debug information"
    size = library.stat().st_size
    print(f"{library.name}: {size / 1e6:.1f} MB")
    assert size <= MOST_BYTES


def is_named_by_its_version(prefix: Path, library: Path) -> None:
    version = re.search(r'LENTO_VERSION "([\d.]+)"', (prefix / "include/lento/version.h").read_text())
    assert version and library.name == f"liblento.so.{version[1]}"
    short = ".".join(version[1].split(".")[:2])
    dynamic = output("readelf", "--dynamic", "--wide", library)
    assert f"Library soname: [liblento.so.{short}]" in dynamic
    assert (prefix / f"lib/liblento.so.{short}").resolve() == library
    paths = re.findall(r"Library (?:rpath|runpath): \[(.*)\]", dynamic)
    assert paths in ([], ["$ORIGIN/lento"]), paths
    assert version[1] in (prefix / "lib/cmake/lento/lentoConfigVersion.cmake").read_text()
    assert f"Version: {version[1]}" in (prefix / "lib/pkgconfig/lento.pc").read_text()


def brings_what_it_needs(prefix: Path, library: Path) -> None:
    """And not OpenCL, which nothing here uses: a library of Lento's own stands in for it."""
    beside = prefix / "lib/lento"
    if not beside.exists():  # LENTO_BUNDLE=OFF
        return
    needed = run("ldd", library)
    assert "OpenCL" not in needed
    assert not list(prefix.rglob("libOpenCL*"))
    found = dict(re.findall(r"(lib\S+) => (\S+)", needed))
    of_the_system = r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so"
    for name, path in found.items():
        assert re.match(of_the_system, name) or Path(path).parent == beside, f"{name} is {path}"


def holds_nothing_else(prefix: Path) -> None:
    known = [r"include/lento/.*\.h", r"include/lento/[\w/]+\.gen\.inc", r"lib/liblento\.so[\d.]*", r"lib/lento/lib\S+",
             r"lib/cmake/lento/lento[\w-]+\.cmake", r"lib/pkgconfig/lento\.pc"]  # fmt: skip
    files = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()]
    assert not [name for name in files if not any(re.fullmatch(pattern, name) for pattern in known)]
    for path in [*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")]:
        assert str(prefix.parent) not in path.read_text(), f"{path.name} names a folder of this machine"


def main() -> None:
    options = arguments()
    prefix = options.prefix.resolve()
    library = (prefix / "lib/liblento.so").resolve()
    is_named_by_its_version(prefix, library)
    exports_what_the_headers_declare(prefix, library)
    if "debug" not in options.compilers:
        is_stripped_and_small(library)
    brings_what_it_needs(prefix, library)
    holds_nothing_else(prefix)


if __name__ == "__main__":
    sys.exit(main())
