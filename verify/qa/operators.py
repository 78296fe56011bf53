"""The classic mutation operators, applied to the sites of a source: one small mistake each.

relational, logical, arithmetic, constant, index (the wrong element, stride, tensor or end of a
range), dropped statement, dropped barrier.
"""

import collections
import hashlib
import re
from typing import NamedTuple

import sites

OPERATORS = {
    "relational": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "logical": {"&&": "||", "||": "&&"},
    "arithmetic": {
        "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|",
        "|": "&", "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "=", "^=": "|=",
    },
}  # fmt: skip
BINARY = {old: (name, new) for name, pairs in OPERATORS.items() for old, new in pairs.items()}
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


class Mutant(NamedTuple):
    """One mistake at a site: `mutated` stands for the site's text."""

    name: str
    operator: str
    site: sites.Site
    mutated: str
    change: str


def replaced(site, token, new):
    """(mutated text, what changed)"""
    at = token.begin - site.begin
    return site.text[:at] + new + site.text[at + len(token.text) :], f"{token.text} -> {new}"


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


def is_template_argument(site, i):
    around = site.tokens[max(0, i - 1) : i + 2]
    is_apart = i == 0 or site.tokens[i].begin > site.tokens[i - 1].end
    return any(t.text in "<>" for t in around) and not is_apart


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


def changes_of(site, source):
    """(operator, (mutated text, what changed)) for each token that can be mistaken."""
    for i, token in enumerate(site.tokens):
        if token.text in BINARY and is_binary(site, i, source) and not is_text(site):
            operator, new = BINARY[token.text]
            yield operator, replaced(site, token, new)
        if token.kind == "number" and not is_template_argument(site, i):
            for number in other_numbers(token.text):
                yield "constant", replaced(site, token, number)
        if token.kind == "name" and wrong_name(site, i):
            yield "index", replaced(site, token, wrong_name(site, i))
        if token.text == "]" and site.tokens[i - 1].text != "[":
            yield "index", replaced(site, token, " + 1]")
    if site.kind == "statement":
        yield "barrier" if BARRIERS.match(site.text) else "statement", ("", "dropped")


def mutants_of(path, source):
    """All mutants of a source, under names that do not change when other parts of it do."""
    found, times = [], collections.Counter()
    for site in sites.sites_of(source):
        for operator, change in changes_of(site, source):
            text = re.sub(r"\s+", " ", "\0".join([site.function.name, site.text, *change]))
            times[operator, text] += 1
            key = f"{text}\0{times[operator, text]}"
            digest = hashlib.sha256(key.encode()).hexdigest()
            name = f"{path.rsplit('/', 1)[-1]}:{operator}:{digest[:6]}"
            found.append(Mutant(name, operator, site, *change))
    return found
