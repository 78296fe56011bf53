"""What the tokens in front of a brace or semicolon declare: a scope, a function, or neither."""

import re
from dataclasses import dataclass
from typing import Iterator, NamedTuple

_MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_SPECIFIERS = {"typedef", "static", "inline", "constexpr", "const", "friend", "extern", "export"}
_STATEMENTS = {"using", "typedef", "static_assert", "namespace", "concept", "return"}
# Words whose parentheses hold no parameters.
_NOT_A_NAME = {
    *("alignas", "decltype", "noexcept", "explicit", "requires", "throw", "sizeof", "asm"),
    *("__attribute__", "__declspec", "__launch_bounds__", "__align__"),
    *("void", "bool", "char", "int", "long", "unsigned", "float", "double", "auto", "catch"),
}
_BEFORE_BODY = {")", "const", "noexcept", "override", "final", "&", "&&", "try", "]", "volatile"}


class Token(NamedTuple):
    text: str
    offset: int


@dataclass(frozen=True)
class Scope:
    class_name: str  # empty for a namespace
    is_read: bool  # whether it holds declarations: an enum does not


@dataclass(frozen=True)
class FunctionHead:
    """Where the name and the parameter list are among the tokens."""

    name_index: int
    open_index: int
    close_index: int

    def name(self, head: list[Token]) -> str:
        """The name with its qualification, such as `Engine::run`."""
        words = [token.text for token in head[: self.name_index + 1]]
        start, name = self.name_index, words[-1].replace("operator ", "operator")
        if "operator" in words:  # a conversion: what follows is its type
            start = words.index("operator")
            name = " ".join(words[start:])
        if words[start - 1 : start] == ["~"]:
            name, start = "~" + name, start - 1
        while words[start - 1 : start] == ["::"] and _IDENTIFIER.fullmatch(words[start - 2]):
            name, start = f"{words[start - 2]}::{name}", start - 2
        return name

    def is_macro(self, head: list[Token]) -> bool:
        return bool(_MACRO_NAME.fullmatch(head[self.name_index].text))

    def parameters(self, head: list[Token]) -> list[list[str]]:
        if self.is_macro(head):
            return []
        return split_parameters(head[self.open_index + 1 : self.close_index])


class Nesting:
    """Counts open brackets. Between parentheses `<` may compare, so it does not count there."""

    def __init__(self):
        self._open: list[str] = []

    def step(self, text: str) -> int:
        """Takes the next token; returns how many brackets are open after it."""
        if text in ("(", "[") or (text == "<" and self._open[-1:] in ([], ["<"])):
            self._open.append(text)
        elif text == ">" and self._open[-1:] == ["<"]:
            self._open.pop()
        elif text in (")", "]"):
            while self._open and self._open.pop() == "<":
                pass
        return len(self._open)


def split_parameters(tokens: list[Token]) -> list[list[str]]:
    parameters: list[list[str]] = [[]]
    nesting = Nesting()
    for token in tokens:
        depth = nesting.step(token.text)
        if token.text == "," and depth == 0:
            parameters.append([])
        else:
            parameters[-1].append(token.text)
    parameters = [parameter for parameter in parameters if parameter]
    return [] if parameters == [["void"]] else parameters


def find_scope(head: list[Token]) -> Scope | None:
    words = [token.text for token in head]
    if words[:1] == ["extern"] and len(words) == 2:
        return Scope("", True)
    start = 0
    while start < len(words) and _may_stand_before_scope(words[start]):
        is_call = words[start + 1 : start + 2] == ["("]
        start = _closing_index(head, start + 1) + 1 if is_call else start + 1
    if start >= len(words):
        return None
    if words[start] == "namespace":
        return Scope("", True)
    if words[start] == "enum":
        return Scope("", False)
    if words[start] in ("class", "struct", "union"):
        return Scope(_class_name(words[start + 1 :]), True)
    return None


def _may_stand_before_scope(word: str) -> bool:
    return word in _SPECIFIERS or word == "template" or bool(_MACRO_NAME.fullmatch(word))


def _class_name(words: list[str]) -> str:
    """The last identifier before a base list, `final`, or template arguments."""
    name, depth = "", 0
    for word in words:
        depth += (word in "([") - (word in ")]")
        if depth == 0 and word in (":", "final", "<"):
            break
        if depth == 0 and _IDENTIFIER.fullmatch(word):
            name = word
    return name


def find_function(head: list[Token]) -> FunctionHead | None:
    """The last parameter list before an initialiser list, a trailing return type or a value.

    The last one, because a macro without semicolon may come before; but not a macro's, unless there
    is no other: attributes such as GUARDED_BY(x) follow the parameters.
    """
    if not head or head[0].text in _STATEMENTS:
        return None
    candidates = list(_parameter_lists(head))
    plain = [found for found in candidates if not found.is_macro(head)]
    return (plain or candidates or [None])[-1]


def _parameter_lists(head: list[Token]) -> Iterator[FunctionHead]:
    angles = 0
    index = 0
    while index < len(head):
        text = head[index].text
        if text in (":", "->", "=") and angles == 0:
            return
        if text in "([":
            close = _closing_index(head, index)
            if text == "(" and angles == 0 and _is_name_before(head, index):
                yield FunctionHead(_name_index(head, index), index, close)
            index = close
        elif text == "<":
            angles += 1
        elif text == ">" and angles > 0:
            angles -= 1
        index += 1


def _closing_index(head: list[Token], opening: int) -> int:
    depth = 0
    for index in range(opening, len(head)):
        depth += (head[index].text in "([") - (head[index].text in ")]")
        if depth == 0:
            return index
    return len(head)


def _name_index(head: list[Token], opening: int) -> int:
    """Steps back over the template arguments of an explicit specialisation."""
    index = opening - 1
    if head[index].text == ">":
        depth = 0
        while index >= 0:
            depth += (head[index].text == ">") - (head[index].text == "<")
            index -= 1
            if depth == 0:
                break
    return max(index, 0)


def _is_name_before(head: list[Token], opening: int) -> bool:
    if opening == 0:
        return False
    index = _name_index(head, opening)
    text = head[index].text
    if text.startswith("operator"):
        return True
    if any(token.text == "operator" for token in head[max(0, index - 4) : index]):
        return True  # a conversion: `operator unsigned long()`
    return bool(_IDENTIFIER.fullmatch(text)) and text not in _NOT_A_NAME


def is_lambda(head: list[Token]) -> bool:
    """Whether `{` after this head opens the body of a lambda that is a value or an argument."""
    words = [token.text for token in head]
    for start in range(len(words) - 1, 0, -1):
        # `a[3]` and `[[attribute]]` have brackets too: a capture list begins a value.
        if words[start] == "[" and words[start - 1] in ("=", "(", ",", "return"):
            return _is_lambda_declarator(head, _closing_index(head, start) + 1)
    return False


def _is_lambda_declarator(head: list[Token], index: int) -> bool:
    """Whether there is nothing but `<T>(parameters) specifiers -> type` from index to the end."""
    words = [token.text for token in head]
    while index < len(words) and words[index] != "(":
        if words[index] in (")", ",", "{}"):
            return False
        index += 1
    rest = words[_closing_index(head, index) + 1 :] if index < len(words) else []
    return "->" in rest or all(_IDENTIFIER.fullmatch(word) for word in rest)


def is_constructor_start(head: list[Token], owner: str) -> bool:
    return bool(owner) and head[0].text == owner


def is_body_next(head: list[Token], function: FunctionHead) -> bool:
    """Whether `{` after this head opens the body, and not a member or a variable's value."""
    rest = [token.text for token in head[function.close_index + 1 :]]
    last = head[-1].text
    if ":" in rest:
        return last in (")", "{}", "...")
    if _ends_in_requires_expression(head):
        return False
    if "->" in rest or "requires" in rest:
        return True
    return last in _BEFORE_BODY or bool(_MACRO_NAME.fullmatch(last))


def _ends_in_requires_expression(head: list[Token]) -> bool:
    """`requires(T a) {` after another `requires`, `&&` or `||` opens a list of requirements."""
    words = [token.text for token in head]
    if "requires" not in words:
        return False
    last = len(words) - 1 - words[::-1].index("requires")
    is_at_end = words[-1] == "requires" or (
        words[last + 1 : last + 2] == ["("] and _closing_index(head, last + 1) == len(head) - 1
    )
    return is_at_end and last > 0 and words[last - 1] in ("requires", "&&", "|", "=")
