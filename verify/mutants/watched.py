"""Runs a program for so long; and finds one that waits for itself, as one does that crashed while
it held a lock, and whose handler of the signal wants it.
"""

import subprocess
import time
from pathlib import Path

LOOKS_SECONDS = 5
# No running program uses so little for so long, however many there are beside it.
QUIET_SECONDS = 30


class Waits(Exception):
    """It has used no CPU for QUIET_SECONDS."""


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # of the user, of the system


def run(command, environment, seconds):
    """As subprocess.run(); raises Waits, or subprocess.TimeoutExpired."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    begin = quiet_since = time.monotonic()
    used = 0
    while True:
        try:
            output, errors = process.communicate(timeout=LOOKS_SECONDS)
            return subprocess.CompletedProcess(command, process.returncode, output, errors)
        except subprocess.TimeoutExpired:
            now, ticks = time.monotonic(), cpu_ticks(process.pid)
            if ticks != used:
                used, quiet_since = ticks, now
            if now - quiet_since < QUIET_SECONDS and now - begin < seconds:
                continue
            process.kill()
            process.communicate()
            if now - begin < seconds:
                raise Waits from None
            raise
