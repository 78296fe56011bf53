"""What some machines have and others lack, and which commands cannot run without it."""

from dataclasses import dataclass
from pathlib import Path

from shell_words import simple_commands, without_prefixes

KIT = "verify/cuda_source/cuda_kit"  # where recto looks for it, below its current folder


@dataclass(frozen=True)
class Machine:
    kit: Path | None = None  # the folder that //verify/cuda_source:cuda_kit makes
    python: Path | None = None  # an interpreter with the packages of bazel/python

    def lacks(self, statement: str) -> str | None:
        """What the statement needs but is missing here; nothing if it can run."""
        for words in map(without_prefixes, simple_commands(statement)):
            if words[:1] == ["recto"] and self.kit is None and {"--cuda", "--adapter"} & {*words}:
                return "there is no kit for CUDA sources here"
            needs_packages = words[:2] in (["recto", "plot"], ["./bazelw", "python"])
            if needs_packages and self.python is None:
                return "there is no Python with packages here"
        return None


def kit_beside(program: Path) -> Path | None:
    """Where `bazel build` puts it."""
    kit = Path(f"{program}.runfiles/recto", KIT)
    return kit if kit.is_dir() else None
