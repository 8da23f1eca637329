"""What the tests in this folder share: compilers as a user has them, and an installed Lento."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# Oldest and newer ones that users have; those that are not installed are skipped by name.
COMPILERS = ["g++-12", "g++-13", "g++-14", "clang++-16", "clang++-17", "clang++-18", "clang++-19"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", type=Path, required=True, help="where Lento is installed")
    parser.add_argument("--scratch", type=Path, required=True, help="a folder to work in")
    parser.add_argument("compilers", nargs="*", default=COMPILERS)
    options = parser.parse_args()
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    return options


@dataclass
class Compiler:
    name: str
    path: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.path = shutil.which(self.name)
        self.name = Path(self.name).name

    @property
    def found(self) -> bool:
        return self.path is not None

    def command(self, prefix: Path, *flags: str) -> list[str]:
        assert self.path, f"{self.name} is not installed"
        return [self.path, "-std=c++20", f"-I{prefix}/include", *flags]

    def check(self, text: str, prefix: Path, *flags: str) -> subprocess.CompletedProcess[str]:
        """Compiles a text and makes nothing of it."""
        command = self.command(prefix, *flags, "-fsyntax-only", "-x", "c++", "-")
        if "clang" in self.name:
            command.insert(1, "-ferror-limit=0")
        return subprocess.run(command, input=text, text=True, capture_output=True, env=plain_messages(), check=False)

    def build(self, source: Path, program: Path, prefix: Path, *flags: str) -> None:
        """A program that finds the library where it is installed."""
        link = [f"-L{prefix}/lib", "-llento", f"-Wl,-rpath,{prefix}/lib", "-pthread"]
        run(*self.command(prefix, *flags), source, "-o", program, *link)


def plain_messages() -> dict[str, str]:
    return dict(os.environ, LC_ALL="C")


def run(*command: str | Path, **environment: str) -> str:
    """Runs a command, shows and returns what it prints; what fails ends the test."""
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    result = subprocess.run(
        words,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, **environment),
        check=False,
    )
    print(result.stdout, flush=True)
    assert result.returncode == 0, f"{Path(words[0]).name} failed with {result.returncode}"
    return result.stdout
