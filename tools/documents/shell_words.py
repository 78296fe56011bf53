"""Splits shell statements into commands and words, as far as documents need it."""

import re
import shlex

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
_TIMERS = {"time", "/usr/bin/time"}
_TIMER_FLAGS_WITH_A_WORD = {"-f", "-o"}
_SIGNS = set("();<>|&")


def simple_commands(statement: str) -> list[list[str]]:
    """The words of each command between pipes, `&&` and the like, without redirections; ValueError
    if quotes are unbalanced. Commands in $( ) come last; their output is replaced by 1.
    """
    inner = [command for part in _SUBSTITUTION.findall(statement) for command in
             simple_commands(part)]
    first_line = _SUBSTITUTION.sub("1", statement).split("\n")[0]  # others are a here-document
    lexer = shlex.shlex(first_line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    for word in lexer:
        if not set(word) <= _SIGNS:
            commands[-1].append(word)
        elif set(word) <= set("<>&") and set(word) & set("<>"):
            next(lexer, None)
            if commands[-1] and commands[-1][-1].isdigit():  # of 2>file
                commands[-1].pop()
        else:
            commands.append([])
    return [command for command in commands if command] + inner


def without_prefixes(words: list[str]) -> list[str]:
    """Without variable assignments and the command that takes the time."""
    at = 0
    while at < len(words) and (words[at] in _TIMERS or _ASSIGNMENT.match(words[at])):
        is_timer = words[at] in _TIMERS
        at += 1
        while is_timer and at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _TIMER_FLAGS_WITH_A_WORD else 1
    return words[at:]


def calls_of(statement: str) -> list[list[str]]:
    """The words of each command after all prefixes; ValueError if quotes are unbalanced."""
    return list(filter(None, map(without_prefixes, simple_commands(statement))))


def program_of(statement: str) -> str:
    """The first word after all prefixes; empty if there is none."""
    try:
        calls = calls_of(statement)
    except ValueError:
        return ""
    return calls[0][0] if calls else ""
