"""The text of a CUDA source: its comments, strings, code and brackets."""

import re


class Failure(Exception):
    pass


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def blank(match):
    """Replaces everything but line ends with spaces."""
    return re.sub(r"[^\n]", " ", match.group(0))


# Numbers are tokens because their digit separators do not open a character literal.
TOKEN = re.compile(
    r"(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)"
    r"|(?P<number>(?<!\w)\.?\d(?:[eEpP][+-]|'?[\w.])*)"
    r'|(?<![A-Za-z0-9_])(?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"'
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    re.S,
)


def without_comments(text):
    """Replaces comments with spaces; string literals stay, because asm needs them."""
    return TOKEN.sub(lambda m: blank(m) if m["comment"] else m.group(0), text)


def code_only(text):
    """Replaces comments and string literals with spaces."""
    return TOKEN.sub(lambda m: m.group(0) if m["number"] else blank(m), text)


OPENING = {"(": ")", "[": "]", "{": "}"}


def end_of_group(code, start):
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(code)):
        if code[position] in OPENING:
            depth += 1
        elif code[position] in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
    raise Failure("a bracket that is never closed")


def is_balanced(code):
    return all(code.count(opening) == code.count(end) for opening, end in OPENING.items())


def split_top(text, code, separator, brackets="([{)]}"):
    """Splits `text` at separators outside brackets; `code` is `text` without strings."""
    opening = brackets[: len(brackets) // 2]
    parts, depth, start = [], 0, 0
    for position, character in enumerate(code):
        if character in brackets:
            depth += 1 if character in opening else -1
        elif depth == 0 and character == separator:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in [*parts, text[start:]]]


DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\\\n]|\\.|\\\n)*$", re.M)


def keep_lines(replacement, original):
    """Appends the line ends that the replacement lacks."""
    return replacement + "\n" * (original.count("\n") - replacement.count("\n"))
