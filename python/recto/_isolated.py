"""Answers calls in a fork, in which only the memory of the call is accessible."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import select
import signal
import sys
import tempfile
import time
import warnings
from typing import Any, Dict, Optional, Tuple

from . import _structs
from ._engine import Answerer, Function
from ._memory import Memory

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                       ctypes.c_long]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_NONE, _READ, _WRITE, _NORESERVE = 0, 1, 2, 0x4000
_PR_SET_PDEATHSIG = 1
_LOOK_MS = 50
# A process that waits uses little CPU time: its limit by the clock is this many times as long, as
# for libraries (verify/library/kernel_peer.h).
_CLOCK_FACTOR = 6
_HANGING_PART = 50


class IsolatedAnswerer:
    """Passes calls to a fork of this process, and waits for it."""

    def __init__(
        self, mailbox: _structs.Mailbox, memory: Memory, functions: Dict[str, Function],
        takes_far_pools: bool, time_limit_s: float,
    ) -> None:
        self.mailbox, self.memory, self.functions = mailbox, memory, functions
        self.takes_far_pools, self.time_limit_s = takes_far_pools, time_limit_s
        self._process: Optional[int] = None
        self._to_worker, self._from_worker = -1, -1
        self._printed = tempfile.TemporaryFile()

    def begin(self) -> None:
        """The next call gets a new process, with all state as it is here."""
        self._end_worker()
        self.mailbox.load("python", self.functions, has_guards=True)

    def _end_worker(self) -> None:
        if self._process is not None:
            self._kill()

    def close(self) -> None:
        """Ends the fork."""
        self._end_worker()
        self._printed.close()

    def answer(self) -> None:
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        begin, (cpu_before, _) = time.monotonic(), _activity(process)
        used_at_last, has_only_waited = 0.0, True  # at, and in, the last part of the limit
        with contextlib.suppress(BrokenPipeError):  # it has ended since its last answer
            os.write(self._to_worker, b"c")
        answers = select.poll()  # of any descriptor, beyond the 1024 of select() too
        answers.register(self._from_worker, select.POLLIN)
        while True:
            if answers.poll(_LOOK_MS) and os.read(self._from_worker, 1):
                return
            # A child of its own may hold its files open, or it may have closed them itself.
            if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return self._say_end(self._kill())
            cpu, is_waiting = _activity(process)
            used, passed = cpu - cpu_before, time.monotonic() - begin
            if passed < (_CLOCK_FACTOR - 1) * self.time_limit_s:
                used_at_last = used
            else:
                has_only_waited = has_only_waited and is_waiting
            if used >= self.time_limit_s:
                return self._say_late(_structs.TIME_LIMIT)
            if passed >= _CLOCK_FACTOR * self.time_limit_s:
                computed = used - used_at_last
                hangs = has_only_waited and computed <= self.time_limit_s / _HANGING_PART
                return self._say_late(_structs.HANGING if hangs else _structs.CLOCK_LIMIT)

    def _say_late(self, end: int) -> None:
        self._kill()
        self.mailbox.answer(0, end, self._take_printed())

    def _say_end(self, status: int) -> None:
        printed = self._take_printed()
        if os.WIFSIGNALED(status):
            self.mailbox.answer(os.WTERMSIG(status), _structs.SIGNAL, printed)
        else:
            self.mailbox.answer(os.WEXITSTATUS(status), _structs.EXIT, printed)

    def _take_printed(self) -> str:
        self._printed.seek(0)
        text = self._printed.read(_structs.PRINTED_BYTES).decode("utf-8", "replace")
        self._printed.truncate(0)
        return text

    def _kill(self) -> int:
        """Ends the fork, if it has not ended, and its children. Returns its status."""
        assert self._process is not None
        for send in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):  # it has no group yet
                send(self._process, signal.SIGKILL)
        _, status = os.waitpid(self._process, 0)
        os.close(self._to_worker)
        os.close(self._from_worker)
        self._process = None
        return status

    def _start(self) -> None:
        requests, self._to_worker = os.pipe()
        self._from_worker, answers = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            process = os.fork()
        if process == 0:
            try:
                os.close(self._to_worker)
                os.close(self._from_worker)
                self._work(requests, answers)
            finally:
                os._exit(1)
        os.close(requests)
        os.close(answers)
        self._process = process

    def _work(self, requests: int, answers: int) -> None:
        """In the fork: answers calls until the other process closes its end."""
        os.setpgid(0, 0)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor in (1, 2):
            os.dup2(self._printed.fileno(), descriptor)
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
        faulthandler.enable(2)
        memory = _closed(self.memory)
        answerer = Answerer(self.mailbox, memory, self.functions, self.takes_far_pools)
        while os.read(requests, 1):
            self._printed.seek(0)
            self._printed.truncate(0)
            for pages in self.mailbox.pages:
                access = _READ | _WRITE if pages.is_written else _READ
                _protect(memory, pages.begin, pages.end - pages.begin, access)
            answerer.answer()
            _protect(memory, 0, memory.num_bytes, _NONE)
            os.write(answers, b".")


def _protect(memory: Memory, begin: int, num_bytes: int, access: int) -> None:
    if _LIBC.mprotect(memory.address + begin, num_bytes, access) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")


def _closed(memory: Memory) -> Memory:
    """The same memory at another address, inaccessible; unmaps the first."""
    file = memory.file
    address = _LIBC.mmap(
        None, memory.num_bytes, _NONE, mmap.MAP_SHARED | _NORESERVE, file, 0
    )
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    _LIBC.munmap(memory.address, memory.num_bytes)
    buffer: Any = (ctypes.c_char * memory.num_bytes).from_address(address)
    return Memory(buffer, memory.base, memory.num_bytes, file)


def _activity(process: int) -> Tuple[float, bool]:
    """CPU time of a process, in s, and whether it waits; 0 and false once it has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0, False
    ticks = int(fields[11]) + int(fields[12])
    return ticks / float(os.sysconf("SC_CLK_TCK")), fields[0] == b"S"
