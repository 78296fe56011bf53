#!/usr/bin/env python3
"""The dialect costs nothing: kernels compile to the same machine code with and without it.

    machine_code_test.py PLAIN... -- KERNELS...

All arguments are cubins. Every kernel in PLAIN must be in KERNELS, with the same bytes.
"""

import sys

sys.path.append("tools/static_speed")
sys.dont_write_bytecode = True

from cubin import read_kernels  # noqa: E402


def codes(cubins):
    """{mangled name: machine code}."""
    return {kernel.name: kernel.code for path in cubins for kernel in read_kernels(path)}


def differences(plain, ours):
    """Yields one line for each difference."""
    for name, code in plain.items():
        if name not in ours:
            yield f"{name} is not among the kernels"
        elif ours[name] != code:
            sizes = f"{len(ours[name])} bytes with the dialect, {len(code)} without"
            yield f"{name}: {sizes}, not the same"


def main(arguments):
    split = arguments.index("--")
    plain, ours = codes(arguments[:split]), codes(arguments[split + 1 :])
    failures = list(differences(plain, ours))
    # Negative control: a changed byte must be detected.
    for name, code in plain.items():
        changed = {**plain, name: code[:-1] + bytes([code[-1] ^ 1])}
        if len(list(differences(changed, plain))) != 1 or not code:
            failures.append(f"{name}: a changed byte is not seen")
    if len(plain) < 2:
        failures.append(f"expected two kernels at least, got {len(plain)}")
    print("\n".join(failures) or f"{len(plain)} kernels are the same with the dialect and without")
    if failures:
        print("testdata/ repeats the kernels in plain CUDA C++: has only one of the two changed?")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
