"""Shell statements, cut into commands and words, as far as documents need it."""

import re
import shlex

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SIGNS = set("();<>|&")


def tokens_of(statement: str) -> list[str]:
    """Words, joints and redirections; quoted signs are parts of words. ValueError if unbalanced."""
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
    """The words of each command between pipes and the like, without what is redirected."""
    commands: list[list[str]] = [[]]
    words = iter(tokens_of(statement))
    for word in words:
        if not set(word) <= _SIGNS:
            commands[-1].append(word)
        elif set(word) <= set("<>&") and set(word) & set("<>"):
            next(words, None)
            if commands[-1] and commands[-1][-1].isdigit():  # of 2>file
                commands[-1].pop()
        else:
            commands.append([])
    return [command for command in commands if command]


def without_assignments(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and _ASSIGNMENT.match(words[at]):
        at += 1
    return words[at:]


def program_of(statement: str) -> str:
    """The first word behind variables that are set for it; empty where there is none."""
    try:
        commands = simple_commands(statement)
    except ValueError:
        return ""
    words = without_assignments(commands[0]) if commands else []
    return words[0] if words else ""
