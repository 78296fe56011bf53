"""Fetches pinned packages from PyPI with pip, which checks their hashes, and unpacks them."""

import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


class Refusal(Exception):
    """A message for the user, in one line."""


@dataclass(frozen=True)
class Package:
    """A wheel, or a source distribution. Nothing of it is built or installed."""

    name: str
    version: str
    sha256: str
    is_wheel: bool = False

    @property
    def folder(self):
        return f"{self.name}-{self.version}"


def fetch(package, cache):
    """The folder with the package's files, fetched if it is not there yet."""
    folder = cache / package.folder
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            download(package, Path(work)).rename(folder)
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}") from error
    return folder


def download(package, work):
    """The folder below `work` into which pip, or this function, has unpacked the package."""
    requirement = work / "requirement.txt"
    requirement.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n",
                           encoding="utf-8")
    files = work / "files"
    # For a source distribution pip also asks for metadata, which takes a package's whole build
    # environment. Without one that fails, but pip has unpacked the files, and leaves them.
    form = ["--only-binary=:all:"] if package.is_wheel else ["--no-binary=:all:", "--no-clean"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-build-isolation", *form, "--require-hashes", "-r", str(requirement),
         "-d", str(files)],
        env={**os.environ, "TMPDIR": str(work)}, capture_output=True, text=True, check=False)
    unpacked = work / "unpacked"
    for archive in files.glob("*.whl"):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(unpacked)
        return unpacked
    for metadata in sorted(work.glob("pip-download-*/*/PKG-INFO")):
        return metadata.parent
    why = [line for line in done.stderr.splitlines() if line.strip()]
    why = next((line for line in why if line.startswith("ERROR")), why[-1] if why else "no message")
    raise Refusal(f"{package.name} {package.version}: expected pip to download it: {why}")
