"""The commands of a Markdown document or notebook: those of its code blocks, in order, and those in
its text."""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Iterator

# A block in one of these languages holds no commands. Any other does, even if it names no language
# or an unlisted one: a line of it that is not a command is reported, not skipped.
OTHER_LANGUAGES = {"cpp", "json", "python", "text"}

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)\s*([\w+-]*)")
_PRINTED = re.compile(r"^<!-- printed( in part)? by: (.*\S)\s*-->$")
_EXIT_CODE = re.compile(r"\bexit code (\d+)")
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HERE_DOCUMENT = re.compile(r"<<-?\s*'?(\w+)'?")
_COMMENT = re.compile(r"(?:^|\s)#(?:\s|$).*")


class Place(Enum):
    BLOCK = "in a code block"
    TEXT = "in the text"
    PRINTED = "above what it prints"


@dataclass(frozen=True)
class Command:
    document: str
    line: int
    text: str  # without its comment; one line except for here-documents
    place: Place = Place.BLOCK
    exit_code: int = 0
    printed: tuple[str, ...] = ()  # what the document says that it prints
    is_part: bool = False  # other lines may stand between these

    @property
    def where(self) -> str:
        return f"{self.document}:{self.line}"


@dataclass(frozen=True)
class Block:
    line: int  # of its first line of code
    language: str
    lines: tuple[str, ...]
    announced: re.Match | None  # the remark before it that names what printed it


def markdown_of(path: str, text: str) -> str:
    """A document's text; of a notebook, that of its Markdown cells, one after the other."""
    if not path.endswith(".ipynb"):
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]
                       if cell["cell_type"] == "markdown")


def blocks_of(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        announced = _PRINTED.match(lines[at - 1]) if at else None
        if fence:
            end = at + 1
            while end < len(lines) and not lines[end].lstrip().startswith(fence[1]):
                end += 1
            yield Block(at + 2, fence[2], tuple(lines[at + 1 : end]), announced)
            at = end + 1
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            yield Block(at + 1, "", tuple(line[4:] for line in lines[at:end]), announced)
            at = end
        else:
            at += 1


def statements_of(block: Block) -> Iterator[tuple[int, str]]:
    """Line and text of each statement: continued lines are joined, here-documents kept whole."""
    at = 0
    while at < len(block.lines):
        begin, line = at, block.lines[at]
        at += 1
        here = _HERE_DOCUMENT.search(line)
        if here:
            while at < len(block.lines):
                line += "\n" + block.lines[at]
                at += 1
                if block.lines[at - 1].strip() == here[1]:
                    break
        while line.endswith("\\") and at < len(block.lines):
            line = line[:-1].rstrip() + " " + block.lines[at].strip()
            at += 1
        if line.strip() and not line.strip().startswith("#"):
            yield block.line + begin, line.strip().removeprefix("$ ")


def _command(document: str, line: int, text: str, **more) -> Command:
    comment = _COMMENT.search(text)
    code = _EXIT_CODE.search(comment[0]) if comment and "\n" not in text else None
    bare = text if "\n" in text else _COMMENT.sub("", text).strip()
    return Command(document, line, bare, exit_code=int(code[1]) if code else 0, **more)


def _without_blocks(text: str) -> str:
    lines = text.split("\n")
    for block in blocks_of(text):
        for number in range(block.line - 1, block.line - 1 + len(block.lines)):
            lines[number] = ""
    return "\n".join("" if _FENCE.match(line) else line for line in lines)


def commands_of(document: str, text: str, is_program) -> Iterator[Command]:
    """In document order; `is_program` says whether a statement's first word is a known program."""
    found = []
    for block in blocks_of(text):
        statements = list(statements_of(block))
        if block.announced:
            found.append(
                _command(
                    document,
                    block.line,
                    block.announced[2],
                    place=Place.PRINTED,
                    printed=block.lines,
                    is_part=bool(block.announced[1]),
                )
            )
        elif block.language not in OTHER_LANGUAGES:
            found += [_command(document, line, statement) for line, statement in statements]
    prose = _without_blocks(text)
    for match in _INLINE.finditer(prose):
        statement = " ".join(match[1].split())
        if " " in statement and is_program(statement):
            line = prose.count("\n", 0, match.start()) + 1
            found.append(Command(document, line, statement, Place.TEXT))
    return iter(sorted(found, key=lambda command: command.line))
