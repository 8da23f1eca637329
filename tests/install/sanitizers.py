"""sanitizers.py --prefix PREFIX --scratch FOLDER COMPILER...: users' programs, built with sanitizers.

The installed library was built without them; AddressSanitizer with leak detection, UndefinedBehaviorSanitizer and
ThreadSanitizer must have nothing to say.
"""

from __future__ import annotations

import sys
from pathlib import Path

from outside import Compiler, arguments, run

# Memory in every way that users have to share it; threads wherever a program has some.
PROGRAMS = {
    "address,undefined": ("much", "external_memory", "closures", "threads", "training"),
    "thread": ("much", "threads", "closures", "prefetch", "shared_weights", "server"),
}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def main() -> None:
    options = arguments()
    for compiler in map(Compiler, options.compilers):
        if not compiler.found:
            print(f"skipped: {compiler.name} is not installed")
            continue
        for sanitizer, names in PROGRAMS.items():
            for source in (Path(__file__).parent / "programs" / f"{name}.cpp" for name in names):
                program = options.scratch / f"{source.stem}-{compiler.name}-{sanitizer.split(',')[0]}"
                flags = ["-O1", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
                compiler.build(source, program, options.prefix, *flags)
                printed = run(program, **OPTIONS)
                assert "Sanitizer" not in printed and "runtime error" not in printed


if __name__ == "__main__":
    sys.exit(main())
