"""What compiled kernels take of a multiprocessor, as a table.

    ptxas_report.py VERSION LOG...

VERSION is nvcc's, each LOG what ptxas -v printed for one source. Prints a line for each kernel, by
name: registers of a thread, bytes of its stack frame and of the loads and stores that registers
are spilled by, bytes of static shared memory of a thread block.
"""

import re
import subprocess
import sys
from pathlib import Path

_KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers.*?(?:, (\d+) bytes smem|$)")

HEADINGS = ("registers", "stack", "spill stores", "spill loads", "shared", "kernel")


def demangled(names):
    """Their names in C++, without what all of them have."""
    output = subprocess.run(
        ["c++filt", *names], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [re.sub(r"^void |\([\w:]*Params\)$|recto::kernels::", "", name) for name in output]


def read_log(text):
    """Yields (architecture, mangled name, five numbers) for each kernel."""
    arch = name = stack = None
    for line in text.splitlines():
        if match := _KERNEL.search(line):
            name, arch, stack = match[1], match[2], None
        elif match := _STACK.search(line):
            stack = match.groups()
        elif (match := _USED.search(line)) and name and stack:
            yield arch, name, tuple(int(n or 0) for n in (match[1], *stack, match[2]))
            name = None


def report(version, logs):
    kernels = [kernel for log in logs for kernel in read_log(log)]
    if not kernels:
        raise SystemExit("ptxas_report: the logs name no kernel")
    names = demangled([name for _, name, _ in kernels])
    arches = sorted({arch for arch, _, _ in kernels})
    lines = [f"# nvcc {version}, {', '.join(arches)}", "  ".join(HEADINGS)]
    for name, numbers in sorted(zip(names, (numbers for _, _, numbers in kernels))):
        columns = [f"{number:>{len(head)}}" for number, head in zip(numbers, HEADINGS)]
        lines.append("  ".join([*columns, name]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(report(sys.argv[1], [Path(path).read_text("utf-8") for path in sys.argv[2:]]))
