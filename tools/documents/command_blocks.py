"""The commands of a Markdown document or notebook: those of its code blocks, in order, and those in
its text."""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Iterator

# A block in one of these languages has no commands. Any other block does, even one without a
# language or with an unlisted one: a line that is not a command is reported, not skipped.
OTHER_LANGUAGES = {"cpp", "json", "python", "text"}

_BLOCK = re.compile(  # fenced or indented
    r"""(?: ^<!--[ ]printed(?P<part>[ ]in[ ]part)?[ ]by:[ ](?P<printer>[^\n]*\S)\s*-->\n )?
        (?: ^[ ]{0,3}(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[^\n]*\n
            (?P<fenced>.*?) (?: ^[ \t]*(?P=fence)[^\n]*$ | \Z )
          | (?: (?<=\n\n) | \A ) (?P<indented>(?:[ ]{4}[^\n]*(?:\n|\Z))+) )""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# A line with its continuation lines and its here-document.
_STATEMENT = re.compile(r"^(?:.*\\\n)*.*<<-?\s*'?(\w+)'?.*\n(?:.*\n)*?\s*\1$|^(?:.*\\\n)*.+", re.M)
_EXIT_CODE = re.compile(r"\bexit code (\d+)")
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
    text: str
    printer: str | None  # the command that printed it, named by the remark before the block
    is_part: bool


def markdown_of(path: str, text: str) -> str:
    """A document's text; of a notebook, that of its Markdown cells, one after the other."""
    if not path.endswith(".ipynb"):
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]
                       if cell["cell_type"] == "markdown")


def blocks_of(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        kind = "indented" if match["fence"] is None else "fenced"
        code = match[kind]
        if kind == "indented":
            code = re.sub(r"(?m)^    ", "", code)
        yield Block(text.count("\n", 0, match.start(kind)) + 1, match["language"] or "",
                    code.rstrip("\n"), match["printer"], bool(match["part"]))


def _command(document: str, line: int, text: str, **more) -> Command:
    comment = _COMMENT.search(text)
    code = _EXIT_CODE.search(comment[0]) if comment and "\n" not in text else None
    bare = text if "\n" in text else _COMMENT.sub("", text).strip()
    return Command(document, line, bare, exit_code=int(code[1]) if code else 0, **more)


def _of_block(document: str, block: Block) -> Iterator[Command]:
    if block.printer:
        yield _command(document, block.line, block.printer, place=Place.PRINTED,
                       printed=tuple(block.text.split("\n")), is_part=block.is_part)
    elif block.language not in OTHER_LANGUAGES:
        for match in _STATEMENT.finditer(block.text):
            statement = re.sub(r"\s*\\\n\s*", " ", match[0]).strip().removeprefix("$ ")
            if statement and not statement.startswith("#"):
                line = block.line + block.text.count("\n", 0, match.start())
                yield _command(document, line, statement)


def commands_of(document: str, text: str, is_program) -> Iterator[Command]:
    """In document order; `is_program` says whether a statement's first word is a known program."""
    found = [command for block in blocks_of(text) for command in _of_block(document, block)]
    prose = _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in _INLINE.finditer(prose):
        statement = " ".join(match[1].split())
        if " " in statement and is_program(statement):
            line = prose.count("\n", 0, match.start()) + 1
            found.append(Command(document, line, statement, Place.TEXT))
    return iter(sorted(found, key=lambda command: command.line))
