"""contents.py WHEEL: what a wheel must have and must not have, read from the file. Run by scripts/test-wheel.

Needs pyelftools, which the environment that built the wheel has. WHEEL_PLATFORM is the platform that the wheel must be
for; only a wheel built on a system newer than Debian 12 is for another one than the default.
"""

from __future__ import annotations

import ctypes
import email
import os
import re
import sys
import tempfile
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

PLATFORM = os.environ.get("WHEEL_PLATFORM", "manylinux_2_34_x86_64")  # Ubuntu 22.04, RHEL 9
MOST_BYTES = 45_000_000
NO_PLATFORM = -1001  # OpenCL's CL_PLATFORM_NOT_FOUND_KHR
# What systems of that platform have themselves.
OF_THE_SYSTEM = r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z))\.so\.\d+"


class Wheel:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = ZipFile(path)
        self.names = [name for name in self.file.namelist() if not name.endswith("/")]
        (self.about,) = {name.split("/")[0] for name in self.names if ".dist-info/" in name}
        self.metadata: Message = email.message_from_string(self.text("METADATA"))
        self.libraries = [name for name in self.names if re.search(r"\.so(\.|$)", name)]

    def text(self, name: str) -> str:
        return self.file.read(f"{self.about}/{name}").decode()

    def needed(self, library: str) -> list[str]:
        with self.file.open(library) as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            assert isinstance(dynamic, DynamicSection)
            return [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


def is_for_the_platform(wheel: Wheel) -> None:
    assert wheel.path.name.endswith(f"-{PLATFORM}.whl"), f"{wheel.path.name} is not for {PLATFORM}"
    tags = re.findall(r"^Tag: (.*)$", wheel.text("WHEEL"), flags=re.M)
    assert [tag.split("-")[2] for tag in tags] == [PLATFORM], tags


def is_small(wheel: Wheel) -> None:
    size = wheel.path.stat().st_size
    assert size <= MOST_BYTES, f"{size / 1e6:.1f} MB"


def carries_what_it_needs(wheel: Wheel) -> None:
    carried = {Path(name).name for name in wheel.libraries}
    for library in wheel.libraries:
        for name in wheel.needed(library):
            assert name in carried or re.fullmatch(OF_THE_SYSTEM, name), f"{library} needs {name}"


def has_no_opencl(wheel: Wheel) -> None:
    assert not [name for name in wheel.names if "libOpenCL" in name]
    assert not [library for library in wheel.libraries for name in wheel.needed(library) if "OpenCL" in name]
    (stand_in,) = (name for name in wheel.libraries if "no_opencl" in name)
    with tempfile.TemporaryDirectory() as folder:
        opencl = ctypes.CDLL(wheel.file.extract(stand_in, folder))
        found = ctypes.c_uint(7)
        assert opencl.clGetPlatformIDs(0, None, ctypes.byref(found)) == NO_PLATFORM
        assert found.value == 0


def has_the_licenses_of_all_that_is_inside(wheel: Wheel) -> None:
    listed = [f"{wheel.about}/licenses/{name}" for name in wheel.metadata.get_all("License-File", [])]
    assert set(listed) == {name for name in wheel.names if "/licenses/" in name}
    (table,) = (name for name in listed if name.endswith("/BUNDLED.md"))
    rows = re.findall(r"^\| (\S+) \| (.*) \| .* \| \[(.*)\]\(\3\) \|$", wheel.file.read(table).decode(), flags=re.M)
    folder = table.rpartition("/")[0]
    for _, _, license in rows:
        assert len(wheel.file.read(f"{folder}/{license}")) > 500, license
    parts = {name for name, _, _ in rows}
    assert {"liblapacke-dev", "llvm-19-dev", "nanobind", "tsl::robin_map"} <= parts
    # libfmt-4f700944.so.9.1.0 is libfmt.so.9.1.0; the name of a library may have been cut at its own version.
    known = {re.split(r"[.-]", name)[0] for name, where, _ in rows if where == "in lento.libs"}
    for library in wheel.libraries:
        name = re.split(r"[.-]", Path(library).name)[0]
        assert name in known or name in {"liblento_no_opencl", "_core"}, f"{library} has no license"
    runtime = wheel.file.read(f"{folder}/libgomp1.txt").decode()
    assert "GCC RUNTIME LIBRARY EXCEPTION" in runtime
    assert "GNU GENERAL PUBLIC LICENSE" in wheel.file.read(f"{folder}/GPL-3.txt").decode()


def says_what_it_is(wheel: Wheel) -> None:
    metadata = wheel.metadata
    assert metadata["Author"]
    assert metadata["License-Expression"] == "Apache-2.0"
    classifiers = metadata.get_all("Classifier", [])
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= set(classifiers)
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)\s]+)\)", metadata.get_payload())
    assert [link for link in links if "://" not in link] == [], "an index has no files that these could lead to"


def is_typed(wheel: Wheel) -> None:
    assert {"lento/py.typed", "lento/_core.pyi", "lento/_ops.pyi", "lento/_tensor_methods.pyi"} <= set(wheel.names)


def main() -> None:
    wheel = Wheel(Path(sys.argv[1]))
    claims = (
        is_for_the_platform,
        is_small,
        carries_what_it_needs,
        has_no_opencl,
        has_the_licenses_of_all_that_is_inside,
        says_what_it_is,
        is_typed,
    )
    for claim in claims:
        claim(wheel)
    print(f"wheel: {len(claims)} claims about {wheel.path.name} hold")


if __name__ == "__main__":
    main()
