"""Adds new_op.yaml to the catalogue, recompiles what that changes, and calls the new op from C++ and Python.

    one_entry.py --build DIR --source DIR --scratch DIR --cxx COMPILER

The build folder is left as it is: what changes is compiled and linked in the scratch folder, from the commands of the
build. So the test also knows how much one entry costs, and fails when it is too much.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_COMPILER_RUNS = 30


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Runs a command; shows what it printed when it fails."""
    words = [str(word) for word in command]
    outcome = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        sys.exit(f"{shlex.join(words)}\n{outcome.stdout}{outcome.stderr}failed: {outcome.returncode}")
    return outcome.stdout


class Tree:
    """The build folder, and beside it the scratch folder with what one more entry changes."""

    def __init__(self, build: Path, source: Path, scratch: Path):
        self.build, self.source, self.scratch = build, source, scratch
        self.generated = scratch / "generated"

    def generate(self) -> set[str]:
        """Generates from the longer catalogue; returns what is new or changed, as paths below the build folder."""
        ops = self.scratch / "ops"
        shutil.copytree(self.source / "ops", ops)
        shutil.copy(Path(__file__).parent / "new_op.yaml", ops)
        math = sorted((self.source / "src/backends/reference").glob("scalar_*.h"))
        callers = [("ops", "src/ops"), ("autograd", "src/autograd"), ("python", "python/src")]
        options = [word for path in math for word in ("--math", path)]
        options += [word for prefix, folder in callers for word in ("--callers", f"{prefix}={self.source / folder}")]
        opgen = self.build / "tools/opgen/opgen"
        run(opgen, "generate", "--ops", ops, "--out", self.generated, "--quiet", *options)
        changed = set()
        for path in self.generated.rglob("*.gen.*"):
            name = path.relative_to(self.generated)
            before = self.build / "generated" / name
            if not before.exists() or before.read_bytes() != path.read_bytes():
                changed.add(str(Path("generated") / name))
        return changed

    def targets(self) -> list[str]:
        """The shared library and the extension module, as the build names them."""
        files = [*self.build.glob("lib/liblento.so.*"), *self.build.glob("python/lento/_core.*.so")]
        return [str(path.relative_to(self.build)) for path in files if not path.is_symlink()]

    def objects_of(self, target: str) -> list[str]:
        """The objects that the target's shared library is linked from."""
        return [word for word in shlex.split(self.command(target)) if word.endswith(".o")]

    def command(self, target: str) -> str:
        """What the build runs to make a file."""
        return run("ninja", "-t", "commands", "-s", target, cwd=self.build).strip().splitlines()[-1]

    def touched(self, changed: set[str]) -> set[str]:
        """The objects that were compiled from one of these files."""
        objects, current = set(), ""
        for line in run("ninja", "-t", "deps", cwd=self.build).splitlines():
            if not line.startswith(" "):
                current = line.split(":")[0]
            elif os.path.relpath(self.build / line.strip(), self.build) in changed:
                objects.add(current)
        return objects

    def compile(self, objects: set[str]) -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda output: self.rerun(self.command(output), {output}), sorted(objects)))

    def rerun(self, command: str, moved: set[str]) -> None:
        """Runs a command of the build with these of its files, and what is generated, in the scratch folder."""
        words = []
        for word in shlex.split(command.replace(str(self.build / "generated"), str(self.generated))):
            own = word in moved or any(word == f"{name}.d" for name in moved)
            words.append(str(self.scratch / word) if own else word)
            if own:
                Path(words[-1]).parent.mkdir(parents=True, exist_ok=True)
        run("sh", "-c", shlex.join(words).replace("'&&'", "&&"), cwd=self.build)


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--build", "--source", "--scratch", "--cxx"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    tree = Tree(Path(options.build), Path(options.source), Path(options.scratch))
    shutil.rmtree(tree.scratch, ignore_errors=True)

    changed = tree.generate()
    every = {target: set(tree.objects_of(target)) for target in tree.targets()}
    objects = tree.touched(changed) & set().union(*every.values())
    print(f"{len(changed)} generated files changed, {len(objects)} of {len(set().union(*every.values()))} objects:")
    print("\n".join(sorted(objects)))
    assert 0 < len(objects) <= MOST_COMPILER_RUNS, f"one entry recompiles {len(objects)} files"

    tree.compile(objects)
    for target in every:
        tree.rerun(tree.command(target), (every[target] & objects) | {target})
    use(tree, options.cxx)


def soname(library: Path) -> str:
    """The name by which programs look for the library: liblento.so.0.1."""
    for line in run("objdump", "-p", library).splitlines():
        if "SONAME" in line:
            return line.split()[1]
    sys.exit(f"{library} has no SONAME")


def use(tree: Tree, cxx: str) -> None:
    """Calls the new op from C++ and from Python."""
    here = Path(__file__).parent
    folders = [tree.source / "include", tree.generated, tree.build / "config"]
    library = next((tree.scratch / "lib").glob("liblento.so*"))
    package = tree.scratch / "python/lento"
    (library.parent / soname(library)).symlink_to(library)
    program = tree.scratch / "use_new_op"
    run(cxx, "-std=c++20", *[f"-I{folder}" for folder in folders], here / "use_new_op.cpp", "-o", program, library)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library.parent))
    run(program, env=environment)
    for path in (tree.build / "python/lento").iterdir():
        if not (package / path.name).exists():
            (package / path.name).symlink_to(path.resolve())
    environment["PYTHONPATH"] = str(package.parent)
    run(sys.executable, here / "use_new_op.py", env=environment)


if __name__ == "__main__":
    main()
