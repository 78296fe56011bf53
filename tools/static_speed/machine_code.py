"""The instructions of the kernels in a cubin: their text by nvdisasm, and from the encoding when
they issue (the stall count, the scoreboards that they set and wait for).

nvdisasm comes with the CUDA Toolkit, or in PyPI's nvidia-cuda-nvdisasm or triton.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cubin import KernelCode, read_kernels

_SECTION = re.compile(r"\.text\.(\S+):")
_LABEL = re.compile(r"(\.L_\w+):")
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_JUMPS = ("BRA", "JMP")
_ENDS = ("EXIT", "RET", "BRX", "JMX", "BREAK")
_NO_SCOREBOARD = 7
# Where Python's packages have it, below the folder of an environment.
_IN_PACKAGES = ("lib/python3*/site-packages/nvidia/*/bin/nvdisasm",
                "lib/python3*/site-packages/triton/backends/nvidia/bin/nvdisasm")


class NoDisassembler(SystemExit):
    """What was searched, and what to install. Ends the program unless caught."""


@dataclass(frozen=True)
class Instruction:
    address: int
    predicate: str  # "" or "@P0"
    opcode: str  # "LDGSTS.E.BYPASS.128"
    operands: str
    target: str  # label of a jump, or ""
    stall: int  # cycles until the warp's next instruction, at least
    sets: tuple[int, ...]  # scoreboards that it raises until it has its result, or its operands
    waits: tuple[int, ...]  # scoreboards that it waits for

    @cached_property
    def base(self):
        return self.opcode.partition(".")[0]

    @property
    def is_jump(self):
        return self.base in _JUMPS

    @property
    def ends(self):
        """Whether no instruction follows it."""
        return self.base in _ENDS and not self.predicate

    @property
    def is_conditional(self):
        return bool(self.predicate) or not self.operands.startswith("`(")

    @property
    def never_runs(self):
        return self.predicate == "@!PT"


@dataclass(frozen=True)
class Kernel:
    code: KernelCode
    instructions: list[Instruction]
    labels: dict[str, int]  # to an index into instructions


def find_nvdisasm(toolkit="", interpreter=sys.executable):
    """The path of nvdisasm: in the CUDA Toolkit, in PATH, or in a Python's packages."""
    candidates = [Path(toolkit) / "bin/nvdisasm"] if toolkit else []
    candidates += [Path(found)] if (found := shutil.which("nvdisasm")) else []
    for pattern in _IN_PACKAGES if interpreter else ():
        candidates += Path(interpreter).parent.parent.glob(pattern)
    for path in candidates:
        if path.exists():
            return path
    raise NoDisassembler("no nvdisasm in the CUDA Toolkit, PATH or Python's packages; PyPI's "
                         "nvidia-cuda-nvdisasm has it")


def output_of(*command):
    """What a program prints."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except OSError as error:
        raise SystemExit(f"{command[0]}: expected a program: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{command[0]} ended with {error.returncode}: {error.stderr}") from error


def _issue(word):
    """The stall, the scoreboards set and those waited for, of an instruction's upper half (bits 105
    to 121 of 128, as on all cards since Volta)."""
    sets = tuple(board for board in (word >> 46 & 7, word >> 49 & 7) if board != _NO_SCOREBOARD)
    waits = tuple(board for board in range(6) if word >> 52 >> board & 1)
    return word >> 41 & 15, sets, waits


def _parse(kernel, lines):
    words = list(kernel.control_words())
    instructions, labels = [], {}
    for line in lines:
        if match := _LABEL.match(line):
            labels[match[1]] = len(instructions)
        elif match := _INSTRUCTION.match(line):
            address, predicate, opcode, operands = match.groups()
            target = _TARGET.search(operands)
            jumps = opcode.partition(".")[0] in _JUMPS and target
            stall, sets, waits = _issue(words[int(address, 16) // 16])
            instructions.append(Instruction(int(address, 16), predicate or "", opcode, operands,
                                            target[1] if jumps else "", stall, sets, waits))
    if len(instructions) != len(words):
        raise SystemExit(f"{kernel.name}: expected {len(words)} instructions of nvdisasm, "
                         f"got {len(instructions)}")
    return Kernel(kernel, instructions, labels)


def disassemble(path, nvdisasm, wanted=lambda name: True):
    """The kernels of a cubin whose mangled names are `wanted`."""
    codes = {code.name: code for code in read_kernels(path) if wanted(code.name)}
    if not codes:
        return []
    only = ",".join(str(code.symbol) for code in codes.values())
    lines_of, lines = {}, []
    for line in output_of(nvdisasm, "-fun", only, path).splitlines():
        if match := _SECTION.match(line):
            lines = lines_of.setdefault(match[1], [])
        else:
            lines.append(line)
    return [_parse(code, lines_of.get(name, [])) for name, code in codes.items()]
