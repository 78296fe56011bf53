"""The engine: recto_kernels as a child process, whose calls this process answers."""

from __future__ import annotations

import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from typing import IO, Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _structs
from ._call import AttentionCall, Call, KvWriteCall
from ._errors import EngineFailed, Unsupported
from ._memory import Memory
from ._programs import program
from ._returned import WrongResult, store

Function = Callable[[Any], Any]
_PROTOCOL = 1
_MESSAGE_BYTES = 512
# So that a pool whose blocks lie beyond 2^32 bytes is not touched as a whole by mistake.
_POOL_BYTES_MAX = 1 << 30
_TRACEBACK_LINES = 12
_READ_ONLY = ": the arguments of a call must not be changed; change a copy"
_FORKED = "forked, and the child returned as well: a child ends by os._exit()"


class _Tee:
    """Passes text on, and keeps the first of it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.kept = ""

    def write(self, text: str) -> int:
        if len(self.kept) < _structs.PRINTED_BYTES:
            self.kept += text
        return int(self._stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Answerer:
    """Answers calls in this process: runs the function on views of the shared memory."""

    def __init__(self, mailbox: _structs.Mailbox, memory: Memory, functions: Dict[str, Function],
                 takes_far_pools: bool) -> None:
        self.mailbox, self.memory = mailbox, memory
        self.functions, self.takes_far_pools = functions, takes_far_pools
        self._process = os.getpid()
        self._has_forked = mmap.mmap(-1, 1)  # shared with forks

    def begin(self) -> None:
        """Offers the functions. State that they keep cannot be reset here."""
        self.mailbox.load("python", self.functions, has_guards=False)

    def close(self) -> None:
        """Nothing to end."""

    def answer(self) -> None:
        """Makes the call in the mailbox, and writes how it ended."""
        tees = [_Tee(sys.stdout), _Tee(sys.stderr)]
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = tees
        try:
            status, message, told = self._called()
        finally:
            sys.stdout, sys.stderr = before
        if os.getpid() != self._process:
            self._has_forked[0] = 1
            os._exit(0)
        if self._has_forked[0]:
            self._has_forked[0] = 0
            status, message = _structs.FAILED, _FORKED
        self._say(message)
        self.mailbox.answer(status, printed=tees[0].kept + tees[1].kept + told)

    def _say(self, message: str) -> None:
        context = self.mailbox.attention.context  # the first member of both calls
        size = min(_MESSAGE_BYTES, context.message_bytes)
        text = message.encode("utf-8", "replace")[: size - 1].decode("utf-8", "ignore").encode()
        at = context.message - self.memory.base
        view = memoryview(self.memory.buffer).cast("B")
        view[at : at + len(text) + 1] = text + b"\0"

    def _called(self) -> Tuple[int, str, str]:
        function = self.mailbox.function
        call: Call = (KvWriteCall(self.mailbox.kv_write, self.memory) if function == "kv_write"
                      else AttentionCall(function, self.mailbox.attention, self.memory))
        try:
            status, message, told = self._outcome(call)
        finally:
            kept = call._arguments.end()
        if kept and status == _structs.OK:
            return _structs.FAILED, (
                f"kept an argument: {', '.join(kept)}: arrays are valid until the function "
                "returns; copy what you keep"
            ), told
        return status, message, told

    def _outcome(self, call: Call) -> Tuple[int, str, str]:
        if call._pool_bytes > _POOL_BYTES_MAX and not self.takes_far_pools:
            return _structs.UNSUPPORTED, "pools beyond 1 GiB, without far_pools=True", ""
        try:
            result = self.functions[call.function](call)
            has_lse_ln = store(call, result)
            self.mailbox.table.features = 0 if has_lse_ln else _structs.WITHOUT_LSE
        except Unsupported as reason:
            return _structs.UNSUPPORTED, str(reason) or "unsupported, without a reason", ""
        except WrongResult as wrong:
            return _structs.FAILED, f"returned a wrong result: {wrong}", ""
        except KeyboardInterrupt as interrupt:
            interrupt.args = (f"in {call!r}; isolate=True ends a call that hangs",)
            raise
        except GeneratorExit:
            raise
        except BaseException as error:
            return _structs.FAILED, f"raised {_error_text(error)}", _traceback_text(error)
        return _structs.OK, "", ""


def _error_text(error: BaseException) -> str:
    told = traceback.TracebackException(type(error), error, None)
    setattr(told, "__notes__", None)  # of Python 3.11: they would follow the line that is wanted
    text = list(told.format_exception_only())[-1].strip() or type(error).__name__
    return text + (_READ_ONLY if text.endswith("is read-only") else "")


def _traceback_text(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = os.path.dirname(__file__)
    while frames and os.path.dirname(frames[0].filename) == own:
        frames.pop(0)
    lines = "".join(traceback.format_list(frames[-4:])).splitlines()
    # Frames hold arguments.
    traceback.clear_frames(error.__traceback__)
    error.__traceback__ = None
    return "\n".join(lines[-_TRACEBACK_LINES:]) + "\n" if lines else ""


class Engine:
    """A run of recto_kernels that asks this process to make calls."""

    def __init__(self, arguments: Sequence[str]) -> None:
        path = program("recto_kernels")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        # Files, not pipes: no thread reads them while calls are answered.
        self._out: IO[bytes] = tempfile.TemporaryFile()
        self._err: IO[bytes] = tempfile.TemporaryFile()
        with theirs:
            self.process = subprocess.Popen(
                [path, *arguments, "--caller", str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                pass_fds=[theirs.fileno()],
            )
        self._files: List[int] = []

    def run(
        self, make_answerer: Callable[[_structs.Mailbox, Memory], Any]
    ) -> Tuple[int, str, str]:
        """Answers calls until the engine ends. Returns its exit code, output and messages."""
        try:
            hello = self._hello()
            if hello is not None:
                self._serve(hello, make_answerer)
            code = self.process.wait()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._socket.close()
            out, err = _content(self._out), _content(self._err)
        return code, out, err

    def _hello(self) -> "Optional[Dict[str, Any]]":
        """None if the engine ends before it says anything, as it does after bad usage."""
        text = b""
        while not text.endswith(b"\n"):
            part, files, _, _ = socket.recv_fds(self._socket, 65536, 2)
            self._files += files
            if not part:
                return None
            text += part
        hello: Dict[str, Any] = json.loads(text)
        if hello.get("protocol") != _PROTOCOL:
            raise EngineFailed(
                f"protocol: expected {_PROTOCOL}, got {hello.get('protocol')}: the programs are of "
                "another version than the package"
            )
        return hello

    def _serve(self, hello: Dict[str, Any], make_answerer: Any) -> None:
        arena_file, mailbox_file = self._files
        arena = mmap.mmap(arena_file, hello["arena_bytes"], mmap.MAP_SHARED)
        mailbox_memory = mmap.mmap(mailbox_file, hello["mailbox_bytes"], mmap.MAP_SHARED)
        mailbox = _structs.Mailbox(mailbox_memory, hello["fields"])
        memory = Memory(arena, hello["base"], hello["arena_bytes"], arena_file)
        answerer = make_answerer(mailbox, memory)
        try:
            while True:
                request = self._socket.recv(1)
                if request == b"s":
                    answerer.begin()
                elif request == b"c":
                    answerer.answer()
                else:
                    return
                self._socket.sendall(b".")
        except (BrokenPipeError, ConnectionResetError):
            return  # it has ended; its exit code tells why
        finally:
            self._socket.close()  # the engine then ends, whatever ended this
            answerer.close()
            for file in self._files:
                os.close(file)


def _content(file: "IO[bytes]") -> str:
    file.seek(0)
    with file:
        return file.read().decode("utf-8", "replace")
