"""`recto sweep --collect`: it owns the folder, says which runs are left and stores results."""

import contextlib
import json
import subprocess
import sys

VERSION_SECONDS = 60  # a program that does not answer by then is no recto


def version_of(recto):
    """The program's version and None, or None and an error."""
    try:
        done = subprocess.run([recto, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=VERSION_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"--version did not end within {VERSION_SECONDS} s"
    except OSError as error:
        return None, error.strerror
    said = done.stdout.strip()
    if done.returncode == 0 and said.startswith("recto "):
        return said, None
    first = (said or done.stderr.strip() or "nothing").splitlines()[0]
    return None, f"--version says {first[:200]}, exit code {done.returncode}"


class CollectorEnded(Exception):
    """The collector accepts nothing more; its exit code and last output say why."""

    def __init__(self, exit_code):
        super().__init__(exit_code)
        self.exit_code = exit_code


class Collector:
    def __init__(self, recto, sweep_arguments):
        # In a separate session, so that interrupts reach only this process; the collector ends when
        # its input is closed.
        self._process = subprocess.Popen(
            [recto, "sweep", *sweep_arguments, "--collect"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        line = self._process.stdout.readline()
        if not line.startswith(b"{"):  # a refusal, or the help
            sys.stdout.buffer.write(line)
            raise CollectorEnded(self.finish())
        self.plan = json.loads(line)

    def hand_in(self, lines):
        """Passes on the output of a worker's recto; it is on disk soon after this returns."""
        try:
            self._process.stdin.write(lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise CollectorEnded(self.finish()) from None

    def finish(self):
        """Lets recto write the results, or report what is missing; returns its exit code."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        for line in self._process.stdout:
            sys.stdout.buffer.write(line)
        sys.stdout.flush()
        return self._process.wait()
