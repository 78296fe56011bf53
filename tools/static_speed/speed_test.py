#!/usr/bin/env python3
"""Figures of kernels from their machine code equal the golden ones within 3 %, and decode can keep
a card's memory busy, as predicted without a card (docs/kernel_speed.md).

    speed_test.py TOOLKIT INTERPRETER DYNAMIC_SHARED PLANS CUBIN... -- GOLDEN... [--renew FOLDER]

TOOLKIT and the environment of the Python that the file INTERPRETER names may have nvdisasm. Skipped
without it, and where the golden files are of another nvcc; the floors hold for any. --renew writes
golden files.
"""

import sys
from itertools import groupby
from pathlib import Path

sys.dont_write_bytecode = True

from cards import card_of  # noqa: E402
from figures import measure, rates_of  # noqa: E402
from machine_code import NoDisassembler, disassemble, find_nvdisasm  # noqa: E402
from own_kernels import demangled, is_own, read_dynamic_shared, subject_of  # noqa: E402
from plans import read_plans  # noqa: E402
from speed_table import changes, heading, read_table, write_table  # noqa: E402

FLOOR = 1.3  # times what keeps the card's memory busy
HAS_FLOOR = "GQA decode in whole tiles"  # what the dispatch rule chooses for usual calls
# Predicted to fall short of their cards' memory, which docs/kernel_speed.md says.
BELOW = ", bf16/fp8, "


def target_of(kernel):
    return kernel.code.compiler, kernel.code.arch


def tables(cubins, nvdisasm, shared_table):
    """{(compiler, arch): {label: figures}} of all kernels with a hot loop of products."""
    kernels = [kernel for path in cubins for kernel in disassemble(path, nvdisasm, is_own)]
    kernels.sort(key=target_of)
    found = {}
    for key, group in groupby(kernels, target_of):
        group = list(group)
        subjects = [subject_of(name, shared_table)
                    for name in demangled([kernel.code.name for kernel in group])]
        rows = {subject.label: measure(kernel, subject, card_of(key[1]))
                for kernel, subject in zip(group, subjects, strict=True)}
        found[key] = dict(sorted((label, row) for label, row in rows.items() if row))
    return found


def floor_failures(rows, arch, gb_per_s):
    """Yields a line for each decode kernel that is predicted to fall short of its card's memory,
    and for each listed exception that does not."""
    card = card_of(arch)
    least = FLOOR * card.need(gb_per_s)
    for label, row in rows.items():
        rate = max(rates_of(row))
        if label.startswith(HAS_FLOOR) and (rate < least) != (BELOW in label):
            expected = "below" if BELOW in label else "at least"
            yield (f"{label}: {rate:.1f} bytes per clock and SM are predicted for {card.name}, "
                   f"expected {expected} {least:.1f}: {FLOOR} times what its memory gives")


def check(found, golden, launches):
    failures = []
    known = {first_line: rows for first_line, rows in map(read_table, golden)}
    bandwidth = {launch.card: launch.gb_per_s for launch in launches}
    for (compiler, arch), rows in found.items():
        failures += floor_failures(rows, arch, bandwidth[card_of(arch).name])
        before = known.get(heading(compiler, arch))
        if before is None:
            print(f"SKIPPED: speed: no golden figures of nvcc {compiler}, {arch}")
        else:
            failures += [f"{arch}: {line}" for line in changes(before, rows)]
            print(f"{arch}: {len(rows)} kernels compared")
    return failures


def main(arguments):
    renewed = None
    if "--renew" in arguments:
        at = arguments.index("--renew")
        renewed = Path(arguments[at + 1])
        del arguments[at : at + 2]
    end = arguments.index("--")
    toolkit, interpreter, shared, plans, *cubins = arguments[:end]
    try:
        nvdisasm = find_nvdisasm(toolkit, Path(interpreter).read_text("utf-8").strip())
    except NoDisassembler as missing:
        print(f"SKIPPED: speed: {missing}")
        return 0
    found = tables(cubins, nvdisasm, read_dynamic_shared(shared))
    if renewed:
        for (compiler, arch), rows in found.items():
            path = renewed / f"nvcc_{compiler}_{arch}.txt"
            path.write_text(write_table(heading(compiler, arch), rows), "utf-8")
        return 0
    failures = check(found, arguments[end + 1 :], read_plans(plans))
    if not found:
        failures.append("expected kernels, got none")
    if failures:
        print("\n".join(failures))
        print("if this is as it should be, renew the golden files: tools/static_speed/README.md")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
