"""Shell statements, cut into commands and words, as far as documents need it."""

import re
import shlex

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
_TIMERS = {"time", "/usr/bin/time"}
_TIMER_FLAGS_WITH_A_WORD = {"-f", "-o"}
_SIGNS = set("();<>|&")


def tokens_of(statement: str) -> list[str]:
    """Words, operators and redirections; quoted operators are parts of words. ValueError if
    unbalanced."""
    lexer = shlex.shlex(statement.split("\n")[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def split_at_and(statement: str) -> list[str]:
    """The parts between `&&`, each a statement of its own."""
    if "\n" in statement:
        return [statement]
    parts, quote, begin, at = [], None, 0, 0
    while at < len(statement):
        letter = statement[at]
        if quote:
            quote = None if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif statement.startswith("&&", at):
            parts.append(statement[begin:at].strip())
            at += 1
            begin = at + 1
        at += 1
    return parts + [statement[begin:].strip()]


def simple_commands(statement: str) -> list[list[str]]:
    """The words of each command between pipes and the like, without redirections.

    Commands in $( ) come last; their output is replaced by 1.
    """
    inner = [command for part in _SUBSTITUTION.findall(statement) for command in
             simple_commands(part)]
    commands: list[list[str]] = [[]]
    words = iter(tokens_of(_SUBSTITUTION.sub("1", statement)))
    for word in words:
        if not set(word) <= _SIGNS:
            commands[-1].append(word)
        elif set(word) <= set("<>&") and set(word) & set("<>"):
            next(words, None)
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


def program_of(statement: str) -> str:
    """The first word after all prefixes; empty if there is none."""
    try:
        commands = simple_commands(statement)
    except ValueError:
        return ""
    words = without_prefixes(commands[0]) if commands else []
    return words[0] if words else ""
