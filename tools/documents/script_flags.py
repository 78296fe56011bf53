"""Whether a script of the repository has the flags that a document gives it."""

import re
import subprocess
import sys
from pathlib import Path

_FLAG = re.compile(r"--[a-z][\w-]*")
_PASSED_ON = re.compile(r"other flags are those of `recto (\w+)`")
TIME_LIMIT_S = 60


def script_flags_error(script: Path, arguments: list[str], help_of_recto) -> str | None:
    """Each flag must be in the script's --help, or in that of the recto command to which, as its
    help says, all other flags go: `help_of_recto` gives that text.
    """
    flags = [word.partition("=")[0] for word in arguments if _FLAG.match(word)]
    if not flags:
        return None
    try:
        done = subprocess.run([sys.executable, "-B", script, "--help"], capture_output=True,
                              text=True, timeout=TIME_LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"{script.name} --help: took more than {TIME_LIMIT_S} s"
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"{script.name} --help: exit code {done.returncode}: {said}"
    known = set(_FLAG.findall(done.stdout))
    for command in _PASSED_ON.findall(done.stdout):
        known.update(_FLAG.findall(help_of_recto(command)))
    missing = [flag for flag in flags if flag not in known]
    return f"{missing[0]}: stands not in the help of {script.name}" if missing else None
