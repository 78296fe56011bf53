"""Reads cubins, nvcc's files of machine code: the code of each kernel, its registers, shared memory
and threads.

The attributes below are those that cuobjdump -elf prints under .nv.info; NVIDIA documents their
names alone.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

_TEXT = ".text."
_INSTRUCTION_BYTES, _SYMBOL_BYTES = 16, 24
_REGISTERS, _MAX_THREADS = 0x2F, 0x05  # EIATTR_REGCOUNT, EIATTR_MAX_THREADS
_SIZED = 4  # EIFMT_SVAL: a size and as many bytes follow; other formats have a value of 16 bits


@dataclass(frozen=True)
class KernelCode:
    name: str  # mangled
    symbol: int  # its index in the table of symbols
    code: bytes
    registers: int  # of a thread
    threads: int  # of a thread block, at most
    static_shared: int  # bytes of a thread block, with those that the system takes
    compiler: str  # "13.0.88", of ptxas
    arch: str  # "sm_90"

    def control_words(self):
        """The upper halves of the instructions: waits and stalls, as ptxas chose them."""
        for at in range(0, len(self.code), _INSTRUCTION_BYTES):
            yield struct.unpack_from("<Q", self.code, at + 8)[0]


class _Elf:
    def __init__(self, path):
        self.data = Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("it is no 64-bit little-endian ELF file")
        (table,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names_index = struct.unpack_from("<HHH", self.data, 0x3A)
        headers = [
            struct.unpack_from("<IIQQQQ", self.data, table + i * size) for i in range(count)
        ]
        names = headers[names_index][4]
        self.sections = {}
        for name, kind, _, _, offset, length in headers:
            self.sections[self.text(names + name)] = (kind, offset, length)

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode("ascii")

    def bytes_of(self, section):
        _, offset, length = self.sections.get(section, (0, 0, 0))
        if offset + length > len(self.data):
            raise ValueError(f"{section} goes beyond the end of the file")
        return self.data[offset : offset + length]

    def size_of(self, section):
        return self.sections.get(section, (0, 0, 0))[2]

    def symbols(self):
        """Their names, by index."""
        (_, table, size), names = self.sections[".symtab"], self.sections[".strtab"][1]
        return [self.text(names + struct.unpack_from("<I", self.data, at)[0])
                for at in range(table, table + size, _SYMBOL_BYTES)]

    def attributes(self, section):
        """Yields (attribute, payload) of a section of .nv.info."""
        data, at = self.bytes_of(section), 0
        while at + 4 <= len(data):
            form, attribute, value = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == _SIZED:
                yield attribute, data[at : at + value]
                at += value


def read_kernels(path):
    """The kernels of a cubin, in the order of the file."""
    try:
        return _kernels(_Elf(path))
    except (OSError, OverflowError, struct.error, ValueError, LookupError) as error:
        raise SystemExit(f"{path}: expected a whole cubin: {error}") from error


def _kernels(elf):
    symbols = elf.symbols()
    registers = {}
    for attribute, payload in elf.attributes(".nv.info"):
        if attribute == _REGISTERS:
            index, count = struct.unpack("<II", payload)
            registers[symbols[index]] = count
    note = elf.bytes_of(".note.nv.tkinfo")
    compiler, arch = re.search(rb"V([\d.]+)\0", note), re.search(rb"-arch (sm_\w+)", note)
    if not compiler or not arch:
        raise ValueError("no version and card of ptxas in .note.nv.tkinfo")
    ptxas, card = compiler[1].decode("ascii"), arch[1].decode("ascii")
    kernels = []
    for section in elf.sections:
        name = section.removeprefix(_TEXT)
        if name == section or not elf.size_of(section):
            continue
        threads = [
            struct.unpack("<III", payload)
            for attribute, payload in elf.attributes(".nv.info." + name)
            if attribute == _MAX_THREADS
        ]
        x, y, z = threads[0] if threads else (1024, 1, 1)
        kernels.append(KernelCode(
            name, symbols.index(name), elf.bytes_of(section), registers.get(name, 0), x * y * z,
            elf.size_of(".nv.shared." + name), ptxas, card))
    return kernels
