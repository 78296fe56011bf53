#!/usr/bin/env python3
"""Pins requirements.in: writes requirements.txt, with the hash of each wheel for each machine.

  bazel/python/lock.py

Needs pip 23 and its package index. The versions are those that the oldest Python supports, so that
all Pythons use the same; a package without a wheel for one of the machines is an error.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # Debian 12 has the first, forky 3.13
MACHINES = ("x86_64", "aarch64")
C_LIBRARIES = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")

HEAD = """\
# Made by lock.py from requirements.in: one version for all Pythons, wheels only.
--only-binary :all:
"""


def resolve(python: str, machine: str, *arguments: str) -> dict[str, tuple[str, str]]:
    """Version and hash by package, as pip would install them there."""
    platforms = [f"--platform={library}_{machine}" for library in C_LIBRARIES]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run",
                   "--ignore-installed", f"--target={folder}", f"--report={report}",
                   "--only-binary=:all:", f"--python-version={python}", *platforms, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        installed = json.loads(report.read_text())["install"]
    return {package["metadata"]["name"].lower():
            (package["metadata"]["version"],
             package["download_info"]["archive_info"]["hash"].replace("=", ":"))
            for package in installed}


def main() -> None:
    folder = Path(__file__).resolve().parent
    wanted = resolve(PYTHONS[0], MACHINES[0], "-r", str(folder / "requirements.in"))
    pins = [f"{name}=={version}" for name, (version, _) in sorted(wanted.items())]
    hashes: dict[str, set[str]] = {pin: set() for pin in pins}
    for python in PYTHONS:
        for machine in MACHINES:
            print(f"Python {python}, {machine}", file=sys.stderr)
            for name, (version, found) in resolve(python, machine, "--no-deps", *pins).items():
                hashes[f"{name}=={version}"].add(found)
    lines = [" \\\n    ".join([pin, *(f"--hash={one}" for one in sorted(hashes[pin]))])
             for pin in pins]
    (folder / "requirements.txt").write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
