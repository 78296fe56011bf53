"""C++ read without a compiler: its code without comments and literals, includes, declarations.

Blanks take the place of what is removed, so that offsets and lines stay. A declaration ends at a
`;` or begins a `{`: reading goes from one to the next, and skips parentheses and bodies.
"""

from __future__ import annotations

import re
from typing import Callable, Iterator, NamedTuple

_COMMENT_OR_LITERAL = re.compile(  # each begins with a character of its own, for speed
    r"""
      (?P<comment> //(?:[^\n\\]|\\.)* | /\*.*?(?:\*/|\Z) )
    | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*"
    | '(?<![0-9A-Fa-f']')(?:[^'\\\n]|\\.)+'  # in 1'000 the quote stands between digits
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*(#)[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)

# What begins a declaration, or stands before it.
_ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")
_MACROS = re.compile(r"(?:[A-Z][A-Z0-9_]+\s*(?:\([^()]*\))?\s+(?=[A-Za-z_:~]))+")
_NAMESPACE = re.compile(r'(?:inline\s+)?namespace\b|extern\s*"\s*"$')
_CLASS = re.compile(r"(?:(?:typedef|static|inline|const|friend)\s+)*(?:class|struct|union)\b")
_NO_FUNCTION = re.compile(r"(?:using|typedef|static_assert|concept|return|enum|namespace)\b")
# What ends it before a `{`.
_LAMBDA = re.compile(r"=\s*\[[^\[\]]*\]\s*(?:\((?:[^()]|\([^()]*\))*\))?[\w\s:<>,*&-]*$")
_REQUIREMENTS = re.compile(r"(?:requires|&&|\|\||=)\s*requires\s*(?:\([^()]*\)\s*)?$")
# What it consists of; `operator<` and `->` are no brackets.
_PART = re.compile(
    r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\w\s(]+)|[A-Za-z_]\w*)|::|->|[-+*/%&|^!<>=]=|[<>():=]"
)
_NOT_NAMES = frozenset(  # their parentheses hold no parameters
    "alignas decltype noexcept explicit requires throw sizeof asm void bool char int long unsigned"
    " float double auto const catch __attribute__ __declspec __launch_bounds__ __align__".split()
)


class Include(NamedTuple):
    offset: int
    is_quoted: bool
    path: str


class Declaration(NamedTuple):
    """Of a function, a lambda or a macro; of a template only its parameters."""

    name: str
    line: int
    line_count: int = 0  # of a definition
    parameters: list[str] = []
    template_parameters: list[str] = []


class Declarations(NamedTuple):
    all: list[Declaration]
    unreadable_line: int | None = None  # where reading ended


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text: str) -> str:
    """The text without comments and without what is in quotes."""

    def blank_inside(match: re.Match) -> str:
        text = match.group()
        every = re.sub(r"[^\n\\]|\\(?!\n)", " ", text)  # but for the marks of lines that go on
        return every if match["comment"] else text[0] + every[1:-1] + text[-1]

    return _COMMENT_OR_LITERAL.sub(blank_inside, text)


def includes_of(text: str, code: str) -> list[Include]:
    """The #include lines, also those that only one side of an #if sees."""
    found = _INCLUDE.finditer(text)
    return [Include(m.start(1), m[2] == '"', m[3]) for m in found if code[m.start(1)] == "#"]


def _nesting(text: str, start: int = 0) -> Iterator[tuple[str, int, str]]:
    """Each bracket or comma, its offset, and the brackets that are open after it."""
    opened = ""
    for match in re.compile(r"->|[-<>=]=|[<>()\[\]{},]").finditer(text, start):
        bracket = match.group()
        # Between parentheses `<` may compare.
        if bracket in "([{" or (bracket == "<" and opened[-1:] in ("", "<")):
            opened += bracket
        elif bracket in ")]}":
            opened = opened.rstrip("<")[:-1]
        elif bracket == ">" and opened[-1:] == "<":
            opened = opened[:-1]
        yield bracket, match.start(), opened


def _closing(text: str, opening: int) -> int:
    return next((at for _, at, opened in _nesting(text, opening) if not opened), len(text))


def split_at_commas(text: str) -> list[str]:
    commas = [at for mark, at, opened in _nesting(text) if mark == "," and not opened]
    parts = [text[a + 1 : b].strip() for a, b in zip([-1, *commas], [*commas, len(text)])]
    return [] if parts in ([""], ["void"]) else parts


class Scanner:
    """Finds declarations. `line_at` gives the line of an offset."""

    def __init__(self, code: str, line_at: Callable[[int], int]):
        self._line_at = line_at
        self._all: list[Declaration] = []
        self._code = _DIRECTIVE.sub(self._read_directive, code)
        self._pairs, unpaired = self._pair()
        self._read_scope(0, len(code))
        self.found = Declarations(self._all, None if unpaired is None else line_at(unpaired))

    def _read_directive(self, directive: re.Match) -> str:
        """A function's body could also be hidden in a macro."""
        text = directive.group()
        if define := re.match(r"\s*#\s*define\s+(\w+)", text):
            line = self._line_at(directive.start())
            self._all.append(Declaration(define[1], line, text.count("\n") + 1))
        return blank(directive)

    def _pair(self) -> tuple[dict[int, int], int | None]:
        """Which bracket closes which, and the first without a partner."""
        pairs, opened = {}, []
        for match in re.finditer(r"[(){}]", self._code):
            if match.group() in "({":
                opened.append(match.start())
            elif opened and self._code[opened[-1]] + match.group() in ("()", "{}"):
                pairs[opened.pop()] = match.start()
            else:
                return pairs, match.start()
        return pairs, opened[-1] if opened else None

    def _read_scope(self, begin: int, end: int) -> None:
        """The declarations of a namespace or class."""
        start = at = begin
        mark = re.compile(r"[({;]")
        while match := mark.search(self._code, at, end):
            at = self._pairs.get(match.start(), match.start()) + 1
            if match.group() == "(":
                continue
            head = Head(self._code, start, match.start())
            line_count = self._code.count("\n", head.offset, at) + 1
            if match.group() == ";":
                self._add(head, 0)
            elif head.opens_scope:
                self._add(head, 0)
                self._read_scope(match.end(), at - 1)
            elif head.opens_body:
                self._add(head, line_count)
            else:
                continue  # a value: the declaration goes on
            start = at

    def _add(self, head: Head, line_count: int) -> None:
        line = self._line_at(head.offset)
        for parameters in head.template_parameters:
            self._all.append(Declaration("template", line, 0, [], parameters))
        if head.name:
            self._all.append(Declaration(head.name, line, line_count, head.parameters))


class Head:
    """A declaration up to its `;` or `{`."""

    def __init__(self, code: str, start: int, end: int):
        while access := _ACCESS.match(code, start, end):
            start = access.end()
        self.offset = end - len(code[start:end].lstrip())
        if macros := _MACROS.match(code, self.offset, end):
            self.offset = macros.end()
        self.text = code[self.offset : end].rstrip()
        self.template_parameters: list[list[str]] = []
        while template := re.match(r"template\s*<", self.text):
            close = _closing(self.text, template.end() - 1)
            self.template_parameters.append(split_at_commas(self.text[template.end() : close]))
            self.text = self.text[close + 1 :].lstrip()
        is_class = _CLASS.match(self.text) and not re.search(r"\)$|=", self.text)
        self.opens_scope = bool(is_class or _NAMESPACE.match(self.text))
        self.name, self.parameters, self._rest = "", [], ""
        if _LAMBDA.search(self.text):
            self.name = "lambda"
        elif not self.opens_scope and not _NO_FUNCTION.match(self.text):
            self._find_parameters()

    def _find_parameters(self) -> None:
        """The first parameter list before an initialiser list, a trailing type or a value."""
        angles, name, at = 0, "", 0
        while part := _PART.search(self.text, at):
            mark, at = part.group(), part.end()
            if part[1]:
                name = mark
            elif mark == "(":
                close = _closing(self.text, part.start())
                if angles == 0 and name and name not in _NOT_NAMES:
                    is_macro = name.isupper() and len(name) > 1
                    self.parameters = [] if is_macro else split_at_commas(self.text[at:close])
                    self.name, self._rest = name, self.text[close + 1 :]
                    return
                name, at = "", close + 1
            elif mark in "<>":
                angles = max(angles + (1 if mark == "<" else -1), 0)
            elif mark in (":", "->", "=") and angles == 0:
                return

    @property
    def opens_body(self) -> bool:
        """Whether `{` behind this begins a function's body, and not a value or a member."""
        if not self.name or _REQUIREMENTS.search(self.text):
            return False
        if re.match(r"[^=]*?(?<!:):(?!:)", self._rest):
            return self.text.endswith((")", "}", "..."))
        return "=" not in re.sub(r"requires.*|[=<>!]=", "", self._rest, flags=re.DOTALL)
