#!/usr/bin/env python3
"""Makes C++ for the executor of a CUDA source that was not written for it.

    translate.py SOURCE [-o OUTPUT]

The source is not changed. The output differs from it where CUDA's syntax differs from C++'s:

    __shared__ T name[N];               a variable in the thread block's shared memory
    extern __shared__ T name[];         the dynamic part of it
    kernel<<<grid, block, ...>>>(...)   a call of simt_foreign::launch
    asm volatile("..." : ... : ...)     a call of simt_foreign::InlinePtx<"...">
    __launch_bounds__(n) k(...) {       the same, and a check that the thread block is not larger

Lines keep their numbers. What cannot be translated is an error that names file, line and text.
"""

import argparse
import re
import sys
from pathlib import Path

from cuda_shared import SHARED, translate_shared
from cuda_text import (
    DIRECTIVE,
    Failure,
    blank,
    code_only,
    end_of_group,
    is_balanced,
    keep_lines,
    line_of,
    split_top,
    without_comments,
)

LAUNCH = re.compile(r"<<<")
KERNEL_NAME = re.compile(r"([A-Za-z_][\w:]*)\s*$")


def start_of_kernel(code, position):
    """The position of the kernel's name, whose launch has <<< at `position`."""
    end = len(code[:position].rstrip())
    if code[end - 1] == ">":
        depth = 0
        while end > 0:
            end -= 1
            depth += (code[end] == ">") - (code[end] == "<")
            if depth == 0:
                break
    name = KERNEL_NAME.search(code[:end])
    if name is None:
        raise Failure("expected a kernel's name before <<<")
    return name.start()


def translate_launch(text, code, match):
    """Returns (start, end, replacement) of the launch with this <<<."""
    position = match.start()
    start = start_of_kernel(code, position)
    close = code.find(">>>", position)
    # Text after the end of the statement, or of another launch, does not belong to this one.
    inside = code[position + 3 : max(close, 0)]
    if close < 0 or re.search(r";|<<<", inside) or not is_balanced(inside):
        raise Failure("a launch without >>>")
    arguments = code.find("(", close)
    if arguments < 0 or code[close + 3 : arguments].strip():
        raise Failure("expected '(' after >>>")
    end = end_of_group(code, arguments)
    kernel = text[start:position].strip()
    how = split_top(text[position + 3 : close], inside, ",")
    given = text[arguments + 1 : end - 1].strip()
    name = re.sub(r"\s+", " ", kernel).replace('"', "'")
    shape = f"::simt_foreign::LaunchShape({', '.join(how)})"
    call = f'::simt_foreign::launch("{name}", {shape}, {kernel}'
    call += f", {given})" if given else ")"
    return start, end, keep_lines(call, text[start:end])


BOUNDS = re.compile(r"\b__launch_bounds__\s*\(")
ATTRIBUTE = re.compile(r"__\w+$")


def find_body(code, position):
    """The position after the { of the kernel with attributes up to `position`; else None."""
    while True:
        opening = code.find("(", position)
        if opening < 0:
            return None
        end = end_of_group(code, opening)
        is_attribute = ATTRIBUTE.search(code[position:opening].rstrip()) is not None
        position = end
        if not is_attribute:
            break
    rest = code[position:]
    is_there = rest.lstrip().startswith("{")
    return position + rest.index("{") + 1 if is_there else None


def translate_bounds(text, code, match):
    """Returns (start, end, replacement) from __launch_bounds__ to the beginning of the kernel."""
    end = end_of_group(code, match.end() - 1)
    body = find_body(code, end)
    if body is None:
        return match.start(), end, text[match.start() : end]
    check = f" ::simt_foreign::require_launch_bounds({text[match.end() : end]};"
    return match.start(), body, text[match.start() : body] + " ".join(check.split("\n"))


ASM = re.compile(r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(")
OPERAND = re.compile(r'^"(?P<constraint>[^"]*)"\s*\((?P<value>.*)\)$', re.S)
LITERALS = re.compile(r'^(?:\s*"(?:[^"\\]|\\.)*")+\s*$')


def translate_operand(part):
    operand = OPERAND.match(part)
    if operand is None:
        raise Failure(f"expected an operand as in \"=r\"(x), got '{part}'")
    constraint, value = operand["constraint"], operand["value"].strip()
    kind = constraint.lstrip("=+&")
    if kind not in "hrlfdn" or len(kind) != 1:
        raise Failure(f"expected one of the constraints h, r, l, f, d, n, got '{constraint}'")
    if constraint[0] == "+":
        return f"::simt_foreign::changed({value})"
    if constraint[0] == "=":
        return f"::simt_foreign::written({value})"
    return f"::simt_foreign::read({value})"


def translate_asm(text, code, match):
    """Returns (start, end, replacement) of an asm statement."""
    opening = match.end() - 1
    end = end_of_group(code, opening)
    parts = split_top(text[opening + 1 : end - 1], code[opening + 1 : end - 1], ":")
    if not LITERALS.match(parts[0]):
        raise Failure("expected a string literal in asm")
    operands = []
    for part in parts[1:3]:
        # Brackets within operands are balanced, so commas between operands are outside brackets.
        operands += [p for p in split_top(part, code_only(part), ",") if p]
    template = " ".join(parts[0].split("\n"))
    values = ", ".join(translate_operand(operand) for operand in operands)
    call = f"::simt_foreign::InlinePtx<{template}>()({values})"
    return match.start(), end, keep_lines(call, text[match.start() : end])


# (pattern, function of the text, its code and the match, which returns (start, end, replacement),
# whether matches in directives are skipped).
RULES = (
    (ASM, translate_asm, False),
    (LAUNCH, translate_launch, False),
    (BOUNDS, translate_bounds, True),
    (SHARED, translate_shared, False),
)


def replace_all(text, pattern, function, skips_directives):
    """Replaces match after match, searching anew each time because positions move."""
    position = 0
    while True:
        code = code_only(text)
        match = pattern.search(DIRECTIVE.sub(blank, code) if skips_directives else code, position)
        if match is None:
            return text
        try:
            start, end, replacement = function(text, code, match)
        except Failure as failure:
            raise Failure(f"{line_of(text, match.start())}: {failure}") from failure
        text = text[:start] + replacement + text[end:]
        position = start + len(replacement)


# The replacement is an error only where the header is really included, whatever #if is around it.
REFUSED_HEADERS = re.compile(
    r"^([ \t]*#[ \t]*)include[ \t]*(?P<header><cuda/(?:std/)?(?:barrier|pipeline)>"
    r"|[<\"]cuda_awbarrier(?:_primitives)?\.h[>\"]).*$",
    re.M,
)


def refuse_headers(text):
    return REFUSED_HEADERS.sub(
        lambda match: f"{match.group(1)}error verify/simt: {match['header']} is not supported; "
        "cp.async in PTX and the primitives of cuda_pipeline.h are",
        text,
    )


LEFT_OVER = re.compile(r"(?<!\w)__shared__(?!\w)|<<<")
MENTION = re.compile(r"^[ \t]*#[ \t]*(?:define[ \t]+__shared__|(?:undef|ifn?def|el|if).*)$", re.M)


def check_nothing_is_left(text):
    """Fails if CUDA syntax is left. Directives may test for __shared__, or define it."""
    code = MENTION.sub(blank, code_only(text))
    left = LEFT_OVER.search(code)
    if left is None:
        return
    is_in_macro = DIRECTIVE.sub(blank, code)[left.start() : left.end()].strip() == ""
    where = " in a macro: write it where the macro is used" if is_in_macro else ""
    raise Failure(f"{line_of(text, left.start())}: cannot translate this {left.group()}{where}")


def translate(text, name):
    text = without_comments(text)
    for rule in RULES:
        text = replace_all(text, *rule)
    check_nothing_is_left(text)
    text = refuse_headers(text)
    return f'#include <simt_foreign.h>\n#line 1 "{name}"\n{text}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    try:
        translated = translate(Path(arguments.source).read_text(encoding="utf-8"), arguments.source)
    except (Failure, OSError, UnicodeDecodeError) as failure:
        print(f"{arguments.source}:{failure}", file=sys.stderr)
        return 1
    if arguments.output:
        Path(arguments.output).write_text(translated, encoding="utf-8")
    else:
        sys.stdout.write(translated)
    return 0


if __name__ == "__main__":
    sys.exit(main())
