"""warnings_of_users.py --prefix PREFIX --scratch FOLDER [COMPILER...]: a user's program, with every warning on.

It uses much of what the headers offer and is compiled by each compiler that is installed, without a warning, and run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from outside import WARNINGS, Compiler, arguments, run

# Those that use most of the API and of its templates; the test "programs" builds all of them, with one compiler.
PROGRAMS = ("much", "indexing", "vmap", "errors", "custom_gradient")


def main() -> None:
    options = arguments()
    tried = 0
    for compiler in map(Compiler, options.compilers):
        if not compiler.found:
            print(f"skipped: {compiler.name} is not installed")
            continue
        for name in PROGRAMS:
            program = options.scratch / f"{name}-{compiler.name}"
            source = Path(__file__).parent / "programs" / f"{name}.cpp"
            compiler.build(source, program, options.prefix, "-O2", *WARNINGS)
            run(program)
        tried += 1
    assert tried, "no compiler is installed"


if __name__ == "__main__":
    sys.exit(main())
