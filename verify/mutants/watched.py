"""Runs a program with a time limit, and detects one that deadlocks with itself, such as one that
crashed while it held a lock that its signal handler wants.
"""

import subprocess
import time
from pathlib import Path

LOOKS_SECONDS = 5
# No running program uses so little CPU for so long, however many others there are.
QUIET_SECONDS = 30


class Waits(Exception):
    """The program has used no CPU for QUIET_SECONDS."""


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # user and system time


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
