#!/usr/bin/env python3
"""The dialect costs nothing: kernels compile to the same machine code with and without it.

    machine_code_test.py PLAIN... -- KERNELS...

All arguments are cubins. Every kernel in PLAIN must be in KERNELS, with the same bytes.
"""

import struct
import sys
from pathlib import Path

_TEXT = ".text."


def sections(elf):
    """{name: bytes} of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    names = headers[names_index][4]
    found = {}
    for name, _, _, _, offset, length in headers:
        begin = names + name
        text = elf[begin : elf.index(b"\0", begin)].decode("ascii")
        found[text] = elf[offset : offset + length]
    return found


def kernels(cubins):
    """{mangled name: machine code}."""
    return {
        name.removeprefix(_TEXT): code
        for cubin in cubins
        for name, code in sections(cubin).items()
        if name.startswith(_TEXT)
    }


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
    plain = kernels([Path(path).read_bytes() for path in arguments[:split]])
    ours = kernels([Path(path).read_bytes() for path in arguments[split + 1 :]])
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
