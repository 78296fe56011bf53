"""The classic mutation operators, applied to the sites of a source: one small mistake each.

relational, logical, arithmetic, constant, index (the wrong element, stride, tensor or end of a
range), dropped statement, dropped barrier.
"""

import hashlib
import re

import sites

RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGICAL = {"&&": "||", "||": "&&"}
ARITHMETIC = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "=", "^=": "|=",
}  # fmt: skip
BINARY = [("relational", RELATIONAL), ("logical", LOGICAL), ("arithmetic", ARITHMETIC)]
# Names for different things of the same kind. Each is mistaken for the other.
CONFUSED = [
    ("row_stride", "head_stride"), ("block_stride", "slot_stride"), ("keys", "values"),
    ("key_offsets", "value_offsets"), ("begin", "end"), ("k", "v"), ("first", "last"),
    ("source", "destination"), ("sequence", "head"), ("lane", "warp"), ("cosine", "sine"),
    ("num_rows", "num_heads"), ("k_scales", "v_scales"), ("maximum", "sum"), ("row", "head"),
    ("tile", "stage"), ("dim", "key"), ("count", "first"), ("position", "sequence"),
]  # fmt: skip
FUNCTIONS = {"min": "max", "max": "min", "fminf": "fmaxf", "fmaxf": "fminf"}
BARRIERS = re.compile(
    r"(__syncthreads|__syncwarp|Team::meet|fence_async_proxy|commit_copies|wait_for_copies<.*>"
    r"|wait_at_mbarrier|arrive_expecting)\("
)


class Mutant:
    """One mistake at a site: `mutated` stands for the site's text."""

    def __init__(self, operator, site, change):
        self.operator, self.site = operator, site
        self.mutated, self.change = change
        self.name = ""

    def line(self, source):
        return source.count("\n", 0, self.site.begin) + 1


def replaced(site, source, token, new):
    old = source[site.begin : site.end]
    at = token.begin - site.begin
    return old[:at] + new + old[at + len(token.text) :], f"{token.text} -> {new}"


def is_binary(site, i, source):
    """A binary operator, not a sign, a template's bracket or a pointer: it has spaces on both
    sides."""
    token = site.tokens[i]
    if i == 0 or i + 1 == len(site.tokens):
        return False
    before = site.tokens[i - 1]
    has_operand = before.kind in ("name", "number") or before.text in (")", "]")
    apart = source[token.begin - 1] in " \n" and source[token.end] in " \n"
    return has_operand and before.text not in ("return", "case") and apart


def is_text(site):
    """Whether it is text, which can only be concatenated."""
    return any(t.kind == "text" or t.text in ("string", "to_string") for t in site.tokens)


def other_numbers(text):
    """What a literal may be mistaken for."""
    if re.fullmatch(r"\d+[UuLl]*", text):
        digits = re.match(r"\d+", text)[0]
        suffix = text[len(digits) :]
        return [f"{int(digits) + 1}{suffix}"] + ([f"{int(digits) - 1}{suffix}"] * (digits != "0"))
    if re.fullmatch(r"\d+\.\d+F", text):
        return ["1.0F" if float(text[:-1]) == 0 else "0.0F"]
    return []


def changes_of(site, source):
    """(operator, (mutated text, what changed)) for each token that can be mistaken."""
    for i, token in enumerate(site.tokens):
        if token.kind == "mark" and is_binary(site, i, source) and not is_text(site):
            for operator, table in BINARY:
                if token.text in table:
                    yield operator, replaced(site, source, token, table[token.text])
        if token.kind == "number" and not is_template_argument(site, i):
            for number in other_numbers(token.text):
                yield "constant", replaced(site, source, token, number)
        if token.kind == "name" and wrong_name(site, i):
            yield "index", replaced(site, source, token, wrong_name(site, i))
        if token.text == "]" and site.tokens[i - 1].text != "[":
            yield "index", replaced(site, source, token, " + 1]")


def is_template_argument(site, i):
    around = site.tokens[max(0, i - 1) : i + 2]
    return any(t.text in "<>" for t in around) and not is_apart(site, i)


def is_apart(site, i):
    return i == 0 or site.tokens[i].begin > site.tokens[i - 1].end


def wrong_name(site, i):
    """A name that may replace this one: its function uses it in the same way."""
    text = site.tokens[i].text
    is_call = i + 1 < len(site.tokens) and site.tokens[i + 1].text == "("
    if is_call:
        return FUNCTIONS.get(text)
    for pair in CONFUSED:
        if text in pair:
            other = pair[1 - pair.index(text)]
            if site.function.knows(sites.phrase_at(site.tokens, i, other), site.begin):
                return other
    return None


def dropped(site, source):
    text = source[site.begin : site.end]
    operator = "barrier" if BARRIERS.match(text) else "statement"
    return operator, ("", "dropped")


def mutants_of(path, source):
    """All mutants of a source, under names that do not change when other parts of it do."""
    found, times = [], {}
    for site in sites.sites_of(source):
        changes = list(changes_of(site, source))
        if site.kind == "statement":
            changes.append(dropped(site, source))
        for operator, change in changes:
            mutant = Mutant(operator, site, change)
            text = "\0".join([site.function.name, source[site.begin : site.end], *change])
            text = re.sub(r"\s+", " ", text)
            key = (operator, text)
            times[key] = times.get(key, 0) + 1
            digest = hashlib.sha256(f"{text}\0{times[key]}".encode()).hexdigest()
            mutant.name = f"{path.rsplit('/', 1)[-1]}:{operator}:{digest[:6]}"
            found.append(mutant)
    return found
