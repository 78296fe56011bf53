"""Finds functions and template heads in C++ without a compiler.

It reads declarations token by token, and skips function bodies by their braces. That is enough for
sizes and parameters, and fast; what it cannot see is listed in README.md.
"""

import re
from dataclasses import dataclass

from cpp_head import (
    FunctionHead,
    Nesting,
    Token,
    find_function,
    find_scope,
    is_body_next,
    is_constructor_start,
    is_lambda,
    split_parameters,
)
from cpp_text import MaskedCpp

_TOKEN = re.compile(
    r"""
      operator\s*(?:\(\s*\)|\[\s*\]|""\s*\w+|<=>|->\*?|\+\+|--|&&|\|\||<<=?|>>=?
                   |[-+*/%^&|!=<>]=|[-+*/%^&|~!=<>,])
    | [A-Za-z_]\w* | :: | -> | <= | >= | == | != | \.\.\. | &&
    | \d[\w.']* | "[^"]*" | '[^']*' | \S
    """,
    re.VERBOSE,
)
_ACCESS = {"public", "private", "protected"}


@dataclass(frozen=True)
class Function:
    """A definition, or a declaration, whose line_count is 0."""

    name: str
    first_line: int
    line_count: int
    parameters: list[list[str]]  # the tokens of each


@dataclass(frozen=True)
class TemplateHead:
    first_line: int
    parameters: list[list[str]]


@dataclass
class CppDeclarations:
    functions: list[Function]
    templates: list[TemplateHead]
    unbalanced_line: int | None = None  # if a brace has no partner


def scan_cpp(masked: MaskedCpp) -> CppDeclarations:
    return _Scanner(masked).run()


class _Scanner:
    def __init__(self, masked: MaskedCpp):
        self._masked = masked
        self._text = masked.statements
        self._found = CppDeclarations([], [])
        self._closing = self._pair_braces()

    def run(self) -> CppDeclarations:
        self._scan_scope(0, len(self._text), "")
        return self._found

    def _pair_braces(self) -> dict[int, int]:
        pairs, opened = {}, []
        for match in re.finditer(r"[{}]", self._text):
            if match.group() == "{":
                opened.append(match.start())
            elif opened:
                pairs[opened.pop()] = match.start()
            else:
                self._found.unbalanced_line = self._masked.line_at(match.start())
        for offset in opened:
            pairs[offset] = len(self._text)
            self._found.unbalanced_line = self._masked.line_at(offset)
        return pairs

    def _scan_scope(self, begin: int, end: int, owner: str) -> None:
        """Reads the declarations of a namespace or class; `owner` is the class name or empty."""
        head: list[Token] = []
        parens = 0
        offset = begin
        while match := _TOKEN.search(self._text, offset, end):
            token = Token(match.group(), match.start())
            offset = match.end()
            parens += (token.text == "(") - (token.text == ")")
            if token.text == "template":
                offset = self._read_template_head(token, offset, end)
                head.append(token)
            elif token.text == "{":
                closing = self._closing[token.offset]
                head = self._read_braces(head, token, closing, owner if parens == 0 else None)
                offset = closing + 1
            elif parens > 0:
                head.append(token)
            elif token.text == ";":
                self._read_declaration(head, owner)
                head = []
            elif token.text == ":" and head and head[-1].text in _ACCESS:
                head = []
            else:
                head.append(token)

    def _read_template_head(self, keyword: Token, offset: int, end: int) -> int:
        """Returns the offset after `<...>`; explicit instantiations have none."""
        nesting, tokens = Nesting(), []
        for match in _TOKEN.finditer(self._text, offset, end):
            text = match.group()
            if not tokens and text != "<":
                return offset
            tokens.append(Token(text, match.start()))
            if nesting.step(text) == 0:
                line = self._masked.line_at(keyword.offset)
                parameters = split_parameters(tokens[1:-1])
                self._found.templates.append(TemplateHead(line, parameters))
                return match.end()
        return end

    def _read_braces(
        self, head: list[Token], opening: Token, closing: int, owner: str | None
    ) -> list[Token]:
        """Handles `{...}` after `head`; returns the head with which to continue.

        `owner` is None inside parentheses, where braces are values or lambdas.
        """
        skipped = [*head, Token("{}", opening.offset)]
        scope = find_scope(head) if owner is not None else None
        if scope is not None:
            if scope.is_read:
                self._scan_scope(opening.offset + 1, closing, scope.class_name)
            return []
        if is_lambda(head):
            self._add_function("lambda", (head[0].offset, closing), [])
            return skipped
        function = find_function(head) if owner is not None else None
        if function is None or not is_body_next(head, function):
            return skipped
        name = self._name_of(function, head, owner or "")
        self._add_function(name, (head[0].offset, closing), function.parameters(head))
        return []

    def _read_declaration(self, head: list[Token], owner: str) -> None:
        function = find_function(head)
        if function is None or function.is_macro(head):
            return
        if len(head) > 1 and function.name_index == 0 and not is_constructor_start(head, owner):
            return
        name = self._name_of(function, head, owner)
        offset = head[0].offset
        line = self._masked.line_at(offset)
        self._found.functions.append(Function(name, line, 0, function.parameters(head)))

    def _name_of(self, function: FunctionHead, head: list[Token], owner: str) -> str:
        if function.is_macro(head):
            return self._macro_call(function, head)
        name = function.name(head)
        return f"{owner}::{name}" if owner else name

    def _macro_call(self, function: FunctionHead, head: list[Token]) -> str:
        """TEST_CASE and its like carry their name as the first argument."""
        first = head[function.open_index + 1]
        argument = self._masked.original[first.offset :].split(first.text[-1:], 2)
        text = argument[1] if first.text.startswith('"') else first.text
        return f"{function.name(head)}({text})"

    def _add_function(self, name: str, span: tuple[int, int], parameters: list) -> None:
        first = self._masked.line_at(span[0])
        count = self._masked.line_at(span[1]) - first + 1
        self._found.functions.append(Function(name, first, count, parameters))
