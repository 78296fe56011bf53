"""Sites where code can have two forms, one of them wrong: conditions, values and statements.

Finds them in a source as clang-format lays it out. What is decided at compile time (templates,
constexpr, static_assert, the preprocessor) is not a site: a mutant is chosen when a program runs.
"""

import re

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
    |(?P<text>[A-Za-z0-9_]*"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)')
    |(?P<number>\d[\w.']*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<mark><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
OPEN, CLOSED = "([{", ")]}"
COMPILED_AWAY = {"static_assert", "using", "typedef", "constexpr", "extern", "friend", "template"}
# These may precede an opening brace of code, besides the parts of a trailing return type.
AFTER_PARAMETERS = {"const", "noexcept", "override", "mutable", "RECTO_SIMT_UNOBSERVED"}


class Token:
    def __init__(self, kind, text, begin):
        self.kind, self.text, self.begin, self.end = kind, text, begin, begin + len(text)


class Function:
    """Name and tokens, from its head to its closing brace."""

    def __init__(self, name, tokens):
        self.name = name
        self.begins = {}  # of the first of each phrase
        for i, token in enumerate(tokens):
            if token.kind == "name":
                self.begins.setdefault(phrase_at(tokens, i, token.text), token.begin)

    def knows(self, phrase, at):
        """Whether it has been used, or declared, before `at`."""
        return phrase in self.begins and self.begins[phrase] < at


def phrase_at(tokens, i, name):
    """How a name at i is accessed: as "name", "object.member", or ").member"."""
    if i >= 2 and tokens[i - 1].text in (".", "->"):
        return f"{tokens[i - 2].text}.{name}"
    return name


class Site:
    """Source from `begin` to `end`: a "condition", a "value", or a "statement" with its mark."""

    def __init__(self, kind, tokens, function, source):
        self.kind, self.tokens, self.function = kind, tokens, function
        self.begin, self.end = tokens[0].begin, tokens[-1].end
        self.text = source[self.begin : self.end]


def tokens_of(source):
    """All tokens but comments and directives."""
    found = []
    for match in TOKEN.finditer(source):
        if match.lastgroup != "skip":
            found.append(Token(match.lastgroup, match[0], match.start()))
    return found


class Reader:
    """Walks through the tokens of a source and collects its sites."""

    def __init__(self, source):
        self.source, self.tokens = source, tokens_of(source)
        self.partners = self._match_brackets()
        self.sites = []
        self.function = Function("", [])
        self.declarations(0, len(self.tokens))

    def _match_brackets(self):
        partners, open_at = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark" and token.text in OPEN:
                open_at.append(i)
            elif token.kind == "mark" and token.text in CLOSED:
                begin = open_at.pop()
                partners[begin], partners[i] = i, begin
        return partners

    def text(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def add(self, kind, begin, end):
        tokens = self.tokens[begin:end]
        if tokens and not any(token.text in ("{", "}") for token in tokens):
            self.sites.append(Site(kind, tokens, self.function, self.source))

    def declarations(self, i, end):
        """Walks a file, a namespace or a class: goes into the bodies of functions."""
        while i < end:
            begin = i
            while i < end and self.text(i) not in (";", "{"):
                i = self.partners[i] if self.text(i) in "([" else i
                i += 1
            if self.text(i) == "{" and i < end:
                self._body(begin, i)
                i = self.partners[i]
            i += 1

    def _body(self, begin, brace):
        words = [token.text for token in self.tokens[begin:brace]]
        if "(" in words and "=" not in words[words.index("(") - 2 : words.index("(")]:
            if "constexpr" not in words and words[0] not in ("enum", "union"):
                tokens = self.tokens[begin : self.partners[brace]]
                self.function = Function(words[words.index("(") - 1], tokens)
                self.statements(brace + 1, self.partners[brace])
        elif "enum" not in words and "=" not in words and "union" not in words:
            self.declarations(brace + 1, self.partners[brace])

    def statements(self, i, end):
        while i < end:
            i = self.statement(i)

    def statement(self, i):
        """Reads one statement; returns the index after it."""
        text = self.text(i)
        if text == "{":
            self.statements(i + 1, self.partners[i])
            return self.partners[i] + 1
        if text in ("if", "for", "while", "switch"):
            return self._headed(i)
        if text in ("else", "do"):
            return self.statement(i + 1)
        if text in ("case", "default"):
            while self.text(i) != ":":
                i += 1
            return i + 1
        return self._plain(i)

    def _headed(self, i):
        word = self.text(i)
        is_constexpr = self.text(i + 1) == "constexpr"
        begin = i + 2 if is_constexpr else i + 1
        end = self.partners[begin]
        if not is_constexpr and word in ("if", "while"):
            self.add("condition", begin + 1, end)
        if word == "for":
            self._loop(begin + 1, end)
        return end + 1

    def _loop(self, begin, end):
        parts = self.split(begin, end, ";")
        if len(parts) != 3:
            return
        self._initialised(*parts[0])
        self.add("condition", *parts[1])
        self.add("value", *parts[2])

    def split(self, begin, end, mark):
        """The parts between such marks outside of all brackets."""
        parts, first, i = [], begin, begin
        while i < end:
            if self.text(i) in OPEN and i in self.partners:
                i = self.partners[i]
            elif self.text(i) == mark:
                parts.append((first, i))
                first = i + 1
            i += 1
        return parts + [(first, end)]

    def _plain(self, begin):
        end = self.split(begin, len(self.tokens), ";")[0][1]
        if self._lambdas(begin, end) or self.text(begin) in COMPILED_AWAY:
            return end + 1
        words = {token.text for token in self.tokens[begin:end]}
        if self.text(begin) == "return":
            self._value(begin + 1, end)
        elif "constexpr" in words or "static" in words or self.text(begin) == "auto":
            pass
        elif self._is_declaration(begin, end):
            self._initialised(begin, end)
        elif not self.text(begin).startswith("KERNEL_"):
            self.add("statement", begin, end + 1)
        return end + 1

    def _lambdas(self, begin, end):
        """Goes into the bodies of lambdas; returns whether there are any."""
        found = False
        i = begin
        while i < end:
            before = self.text(i - 1)
            is_after_head = before == ")" or before in AFTER_PARAMETERS
            if self.text(i) == "{" and (is_after_head or "->" in self._few_before(i)):
                self.statements(i + 1, self.partners[i])
                i = self.partners[i]
                found = True
            i += 1
        return found

    def _few_before(self, i):
        words = [token.text for token in self.tokens[max(0, i - 6) : i]]
        return words[-words[::-1].index(")") :] if ")" in words else []

    def _is_declaration(self, begin, end):
        """Two names, or a type's last token and a name, side by side."""
        parts = self.split(begin, end, "=")
        first, last = parts[0]
        if len(parts) > 1 and self.text(last - 1) in ("+", "-", "*", "/", "|", "&", "^"):
            return False
        depth = 0
        for i in range(first, last - 1):
            depth += (self.text(i) in OPEN) - (self.text(i) in CLOSED)
            one, other = self.tokens[i], self.tokens[i + 1]
            is_type = one.kind == "name" or one.text in (">", "*", "&")
            if depth == 0 and is_type and other.kind == "name":
                return True
        return False

    def _initialised(self, begin, end):
        parts = self.split(begin, end, "=")
        if len(parts) == 2:
            self._value(*parts[1])

    def _value(self, begin, end):
        """A value, or each of those in braces."""
        if self.text(begin) == "{" and self.partners[begin] == end - 1:
            for part in self.split(begin + 1, end - 1, ","):
                if self.text(part[0]) == "." and self.text(part[0] + 2) == "=":
                    part = (part[0] + 3, part[1])
                self._value(*part)
            return
        self.add("value", begin, end)


def sites_of(source):
    return Reader(source).sites
