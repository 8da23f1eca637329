"""sanitizers.py --prefix PREFIX --scratch FOLDER COMPILER...: a user's program with threads, built with sanitizers.

The installed library was built without them; AddressSanitizer with leak detection, UndefinedBehaviorSanitizer and
ThreadSanitizer must have nothing to say.
"""

from __future__ import annotations

import sys
from pathlib import Path

from outside import Compiler, arguments, run

OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def main() -> None:
    options = arguments()
    sources = [Path(__file__).parent / "programs" / name for name in ("threads.cpp", "much.cpp")]
    for compiler in map(Compiler, options.compilers):
        if not compiler.found:
            print(f"skipped: {compiler.name} is not installed")
            continue
        for sanitizer in ("address,undefined", "thread"):
            for source in sources:
                program = options.scratch / f"{source.stem}-{compiler.name}-{sanitizer.split(',')[0]}"
                flags = ["-O1", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
                compiler.build(source, program, options.prefix, *flags)
                printed = run(program, **OPTIONS)
                assert "Sanitizer" not in printed and "runtime error" not in printed


if __name__ == "__main__":
    sys.exit(main())
