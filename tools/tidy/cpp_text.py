"""C++ text with comments, strings and preprocessor lines blanked out.

Blanking keeps every offset and line number, so that a match in the masked text is a place in the
file.
"""

import re
from dataclasses import dataclass

_COMMENT_OR_LITERAL = re.compile(
    r"""
      (?P<comment> //(?:[^\n\\]|\\.)* | /\*.*?(?:\*/|\Z) )
    | (?P<raw> \b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)" )
    | (?P<string> "(?:[^"\\\n]|\\.)*" )
    # 1'000'000 is a number: its quotes stand between digits.
    | (?P<character> (?<![0-9A-Za-z_'])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)")


def blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text)


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Include:
    path: str
    line: int
    is_quoted: bool


@dataclass(frozen=True)
class MacroDefinition:
    name: str
    first_line: int
    line_count: int


class MaskedCpp:
    def __init__(self, text: str):
        self.original = text
        self.without_comments = _COMMENT_OR_LITERAL.sub(_blank_comment, text)
        # Comments and the contents of literals blanked; the quotes stay.
        self.code = _COMMENT_OR_LITERAL.sub(_blank_comment_and_literal, text)
        # The same without preprocessor lines: what is left is declarations and statements.
        self.statements = _DIRECTIVE.sub(lambda match: blank(match.group()), self.code)

    def line_at(self, offset: int) -> int:
        return line_at(self.original, offset)

    def includes(self) -> list[Include]:
        """The #include lines, also those that only one side of an #if sees."""
        return [
            Include(match[2], self.line_at(match.start(1)), match[1] == '"')
            for match in _INCLUDE.finditer(self.without_comments)
        ]

    def macros(self) -> list[MacroDefinition]:
        found = []
        for directive in _DIRECTIVE.finditer(self.code):
            define = _DEFINE.match(directive.group())
            if define:
                lines = directive.group().count("\n") + 1
                found.append(
                    MacroDefinition(define[1], self.line_at(directive.start()), lines)
                )
        return found


def _blank_comment(match: re.Match) -> str:
    return blank(match.group()) if match["comment"] else match.group()


def _blank_comment_and_literal(match: re.Match) -> str:
    if match["comment"]:
        return blank(match.group())
    text = match.group()
    quote = text[-1]
    return quote + blank(text[1:-1]) + quote
