"""The process that launches PTX kernels, and the file in which their arrays lie."""

from __future__ import annotations

import atexit
import ctypes
import json
import mmap
import os
import socket
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

from ._errors import EngineFailed
from ._programs import program

#: An address, or bytes.
Piece = Union[int, bytes]

# The alignment of CUDA's allocations, in bytes; also the gap between arrays.
_ALIGNMENT = 256


class Span:
    """Memory of this process that a kernel gets: `num_bytes` from `address` on."""

    def __init__(self, name: str, address: int, num_bytes: int, is_written: bool,
                 is_unwritten: bool = False) -> None:
        self.names = [name]
        self.address, self.num_bytes = address, num_bytes
        self.is_written, self.is_unwritten = is_written, is_unwritten
        self.begin = 0  # in the file

    @property
    def end(self) -> int:
        return self.address + self.num_bytes

    def merge(self, other: "Span") -> None:
        """Makes this span the union of both, which overlap."""
        end = max(self.end, other.end)
        self.address = min(self.address, other.address)
        self.num_bytes = end - self.address
        self.names += [name for name in other.names if name not in self.names]
        self.is_written |= other.is_written
        self.is_unwritten &= other.is_unwritten


def merged(spans: Sequence[Span]) -> List[Span]:
    """Spans that do not overlap, by address: views of one array become one."""
    apart: List[Span] = []
    for span in sorted(spans, key=lambda each: (each.address, -each.num_bytes)):
        if apart and span.address < apart[-1].end:
            apart[-1].merge(span)
        else:
            apart.append(span)
    return apart


class PtxProcess:
    """A child that launches kernels for this process. Forks get their own: `current()`."""

    _current: "Optional[PtxProcess]" = None

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._file = os.memfd_create("recto-ptx")
        self._memory: Optional[mmap.mmap] = None
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._left = b""
        with theirs:
            self._child = subprocess.Popen(
                [program("recto_kernels"), "ptx", "-", "--serve", str(theirs.fileno()),
                 "--memory", str(self._file)],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno(), self._file],
            )

    @classmethod
    def current(cls) -> "PtxProcess":
        """That of this process, which is started if there is none."""
        if cls._current is None or cls._current._owner != os.getpid():
            cls._current = cls()
            atexit.register(cls._current.close)
        return cls._current

    def close(self) -> None:
        """Ends the child."""
        if PtxProcess._current is self:
            PtxProcess._current = None
        if self._owner != os.getpid():
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # forks may hold it, too
        except OSError:
            pass
        self._socket.close()
        self._child.wait()

    def load(self, text: bytes, path: str) -> "Dict[str, Any]":
        """Loads a module. ValueError: the text is not PTX; the message begins with `path`."""
        memory = self._mapped(len(text))
        memory[: len(text)] = text
        try:
            return self._ask({"load": len(text)})
        except ValueError as error:
            raise ValueError(f"{path}{error}") from None

    def launch(self, request: "Dict[str, Any]", spans: Sequence[Span],
               arguments: "Sequence[Sequence[Piece]]") -> "Dict[str, Any]":
        """Launches a kernel on copies of the spans, and copies back what it may have written.

        `arguments`: of each, its pieces: an address within a span, or bytes.
        """
        apart = merged(spans)
        size = _ALIGNMENT
        for span in apart:
            span.begin = size + span.address % _ALIGNMENT
            size = (span.begin + span.num_bytes) // _ALIGNMENT * _ALIGNMENT + 2 * _ALIGNMENT
        memory = self._mapped(size)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for span in apart:
            ctypes.memmove(base + span.begin, span.address, span.num_bytes)
        access = {(False, False): "read-only", (True, False): "read-write",
                  (True, True): "write-first"}
        request = {
            **request, "file_bytes": size,
            "buffers": [{"name": " and ".join(span.names), "begin": span.begin,
                         "bytes": span.num_bytes,
                         "access": access[span.is_written, span.is_unwritten and span.is_written]}
                        for span in apart],
            "arguments": [[{"begin": _place(apart, piece)} if isinstance(piece, int)
                           else {"hex": piece.hex()} for piece in pieces]
                          for pieces in arguments],
        }
        answer = self._ask({"launch": request})
        for span in apart:
            if span.is_written:
                ctypes.memmove(span.address, base + span.begin, span.num_bytes)
        return answer

    def _mapped(self, num_bytes: int) -> mmap.mmap:
        if self._memory is None or len(self._memory) < num_bytes:
            # Grows by halves, so that it is seldom mapped again. The old one goes when nothing
            # refers to it any more.
            size = max(num_bytes, (len(self._memory) * 3 // 2) if self._memory else 1 << 20)
            size = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
            os.ftruncate(self._file, size)
            self._memory = mmap.mmap(self._file, size, mmap.MAP_SHARED)
        return self._memory

    def _ask(self, request: "Dict[str, Any]") -> "Dict[str, Any]":
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            while b"\n" not in self._left:
                part = self._socket.recv(1 << 16)
                if not part:
                    raise ConnectionResetError
                self._left += part
        except (BrokenPipeError, ConnectionResetError) as error:
            self.close()
            raise EngineFailed(
                f"the process that runs PTX ended with {self._child.returncode}") from error
        except BaseException:  # Ctrl-C: what it still computes is of no use
            self._child.kill()
            self.close()
            raise
        line, _, self._left = self._left.partition(b"\n")
        answer: Dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer


def _place(spans: Sequence[Span], address: int) -> int:
    for span in spans:
        if span.address <= address < span.end:
            return span.begin + address - span.address
    raise AssertionError("each address lies in a span")
