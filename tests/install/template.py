"""template.py --prefix PREFIX --scratch FOLDER SOURCE COMPILER: builds examples/cpp-template in every way.

With FetchContent it is configured and asked what it would build: compiling Lento once more takes minutes, which
`make test-fetch` does.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from outside import arguments, run

# Run in the template's own CMakeLists, at its end: what Lento as a part of it has left there.
AFTER = """
function(look)
  foreach(name IN LISTS watched)
    if(NOT "${${name}}" STREQUAL "${before_${name}}")
      message(FATAL_ERROR "Lento has changed ${name} to ${${name}}")
    endif()
  endforeach()
  get_directory_property(options COMPILE_OPTIONS)
  get_property(made DIRECTORY ${lento_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${lento_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
  get_directory_property(tests TESTS)
  if(NOT TARGET lento::lento OR options OR tests OR below MATCHES "/(tests|examples|bench|python)(;|$)" OR
     NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    message(FATAL_ERROR "options: ${options}, tests: ${tests}, folders: ${below}, build type: ${CMAKE_BUILD_TYPE}")
  endif()
  message("targets of Lento: ${made}")
endfunction()
set(watched CMAKE_CXX_FLAGS CMAKE_CXX_VISIBILITY_PRESET CMAKE_MODULE_PATH CMAKE_CXX_STANDARD CMAKE_SHARED_LINKER_FLAGS)
foreach(name IN LISTS watched)
  set(before_${name} "${${name}}")
endforeach()
cmake_language(DEFER CALL look)
"""


def runs(program: Path) -> None:
    printed = run(program)
    assert "slope and intercept: [ 2.9" in printed or "slope and intercept: [ 3.0" in printed
    assert "main.cpp:" in printed, "an error names the line"


def main() -> None:
    options = arguments()
    source, compiler = Path(options.compilers[0]), options.compilers[1]
    project = options.scratch / "project"
    shutil.copytree(source / "examples/cpp-template", project)

    build = options.scratch / "build"
    common = ["cmake", "-G", "Ninja", "-S", project, f"-DCMAKE_CXX_COMPILER={compiler}"]
    run(*common, "-B", build, f"-DCMAKE_PREFIX_PATH={options.prefix}")
    run("cmake", "--build", build)
    runs(build / "app")

    if shutil.which("pkg-config"):
        run("make", "-C", project, f"CXX={compiler}", f"PKG_CONFIG_PATH={options.prefix}/lib/pkgconfig")
        runs(project / "app")
        flags = run(
            "pkg-config", "--cflags", "--libs", "lento", PKG_CONFIG_PATH=f"{options.prefix}/lib/pkgconfig"
        ).split()
        run(compiler, "-std=c++20", "-O2", project / "main.cpp", "-o", project / "one-line", *flags)
        assert "slope" in run(project / "one-line", LD_LIBRARY_PATH=f"{options.prefix}/lib")
    else:
        print("skipped: pkg-config is not installed")

    (options.scratch / "after.cmake").write_text(AFTER)
    fetched = options.scratch / "fetched"
    run(
        *common, "-B", fetched, "-DAPP_FETCH_LENTO=ON", f"-DFETCHCONTENT_SOURCE_DIR_LENTO={source}",
        f"-DCMAKE_PROJECT_app_INCLUDE={options.scratch / 'after.cmake'}",
    )  # fmt: skip
    planned = run("ninja", "-C", fetched, "-t", "query", "app")
    assert "liblento.so" in planned


if __name__ == "__main__":
    sys.exit(main())
