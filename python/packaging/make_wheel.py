#!/usr/bin/env python3
"""Makes the wheel: the package, what draws its figures, and the programs. Equal inputs give equal
bytes.

    make_wheel.py OUT_DIR PYPROJECT README PROGRAM... -- FILE...

FILEs are those of python/recto and experiments/plot, and the licences. Programs are copied without
symbols. The name of the wheel has the oldest C library on which they run; with programs that need
other shared libraries, which is said, the wheel is one for this machine.

For pip it is the build backend of a checkout, which refuses, because it has no programs.
"""

import base64
import hashlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What a program may need of a machine: the C library. (PEP 600.)
SYSTEM_LIBRARIES = re.compile(
    r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux[\w-]*\.so\.\d+|linux-vdso\.so\.\d+"
)
OLDEST_GLIBC_MINOR = 17  # of manylinux2014, which every pip knows
TIME = (1980, 1, 1, 0, 0, 0)  # of all files, the first that zip can say
NOT_IN_WHEELS = ("README.md", "plot.py", "map_picture.py")
LICENCES = ("LICENSE", "third_party.txt")  # of recto, and of what its programs are linked with


def readelf(option: str, program: Path) -> str:
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True,
                          text=True).stdout


def foreign_libraries(program: Path) -> list[str]:
    """Those beside the C library."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", program))
    return [name for name in needed if not SYSTEM_LIBRARIES.fullmatch(name)]


def platform_of(programs: list[Path]) -> str:
    """The tag of the machines on which they run: the oldest glibc 2.x that has all symbols."""
    minor = OLDEST_GLIBC_MINOR
    for program in programs:
        if foreign := foreign_libraries(program):
            print(f"{program.name} needs {', '.join(foreign)}: the wheel is for this machine")
            return f"linux_{platform.machine()}"
        versions = re.findall(r"Name: GLIBC_2\.(\d+)", readelf("--version-info", program))
        minor = max(minor, *map(int, versions))
    return f"manylinux_2_{minor}_{platform.machine()}"


def metadata(project: dict, readme: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}",
             f"License-Expression: {project['license']}",
             f"Keywords: {','.join(project['keywords'])}"]
    lines += [f"License-File: {name}" for name in LICENCES]
    lines += [f"Classifier: {each}" for each in project["classifiers"]]
    lines += [f"Requires-Dist: {each}" for each in project["dependencies"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {each}; extra == "{extra}"' for each in packages]
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join(lines) + "\n\n" + without_links(readme)


def without_links(text: str) -> str:
    """Without links to other files, which the wheel does not have."""
    parts = text.split("```")  # every other one is code
    parts[::2] = [re.sub(r"\[([^\]]+)\]\((?!https?:)[^)\s]*\)", r"\1", part) for part in parts[::2]]
    return "```".join(parts)


def entry_points(project: dict) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items()
    )


def place_of(path: Path, info: str) -> str | None:
    """Where a file of the checkout lies in the wheel; None: nowhere."""
    if path.name in LICENCES:
        return f"{info}/licenses/{path.name}"
    if path.name in NOT_IN_WHEELS or path.suffix not in (".py", ".typed"):
        return None
    if path.parent.name == "plot":
        return f"recto/_plot/{path.name}"
    return f"recto/{path.name}"


def stripped(program: Path) -> bytes:
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "--strip-all", "-o", copy.name, program], check=True)
        return Path(copy.name).read_bytes()


def write(out: Path, contents: dict[str, bytes], record_path: str) -> None:
    record = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path, content in sorted(contents.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            record.append(f"{path},sha256={digest},{len(content)}\n")
            info = zipfile.ZipInfo(path, TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if "/_bin/" in path else 0o100644) << 16
            wheel.writestr(info, content)
        info = zipfile.ZipInfo(record_path, TIME)
        info.external_attr = 0o100644 << 16
        wheel.writestr(info, "".join(record) + f"{record_path},,\n")


def build_wheel(*_, **__) -> None:
    """What pip calls in a checkout. SystemExit."""
    sys.exit("recto-attention: a checkout has no programs, without which the package does nothing: "
             "./bazelw build //python:wheel makes the wheel, and\n"
             "pip install bazel-bin/python/wheel/recto_attention-*.whl installs it")


build_sdist = build_editable = build_wheel


def main(arguments: list[str]) -> None:
    import tomllib  # of Python 3.11; pip may have an older one

    out_folder, pyproject, readme = map(Path, arguments[:3])
    at = arguments.index("--")
    programs, files = [Path(each) for each in arguments[3:at]], map(Path, arguments[at + 1 :])
    project = tomllib.loads(pyproject.read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    contents = {place: path.read_bytes() for path in files if (place := place_of(path, info))}
    for program in programs:
        contents[f"recto/_bin/{program.name.removesuffix('_portable')}"] = stripped(program)
    tag = f"py3-none-{platform_of(programs)}"
    contents[f"{info}/METADATA"] = metadata(project, readme.read_text()).encode()
    contents[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: recto\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    contents[f"{info}/entry_points.txt"] = entry_points(project).encode()
    out_folder.mkdir(parents=True, exist_ok=True)
    wheel = out_folder / f"{stem}-{tag}.whl"
    write(wheel, contents, f"{info}/RECORD")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
