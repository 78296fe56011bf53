"""Checks whether a `./bazelw` line could run: its targets, their kinds, its flags.

Bazel itself can't be called inside a test: BUILD files are read as text.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERBS = ("build", "test", "run")
FLAGS = {"-c", "--disk_cache", "--jobs", "--nocache_test_results", "--test_arg", "--test_filter"}
FLAGS |= {"--test_output", "--test_timeout"}
_FLAGS_WITH_A_WORD = {"-c"}
_PLACEHOLDER = re.compile(r"[A-Z_]+")
_CONFIG = re.compile(r"^(?:build|test):(\w+) ", re.MULTILINE)
_STRING = re.compile(r'"([^"\n]*)"')
_TARGET = re.compile(r'(\w+)\(\s*name = ((?:"[^"\n]*"|[^"\n,)])+)')


class BazelCommands:
    def __init__(self, packages: dict[str, str], bazelrc: str, macros: str):
        """`packages`: the text of each folder's BUILD file; `macros`: that of all .bzl files."""
        self._packages = packages
        self._configs = set(_CONFIG.findall(bazelrc))
        self._macros = macros

    def error(self, words: list[str]) -> str | None:
        """`words`: ./bazelw and its arguments."""
        if words[1:] in (["..."], ["browser"]):
            return None  # whatever the command; a command of ./bazelw itself
        if words[1:2] == ["python"]:
            script = (words[2:] or ["-c"])[0]
            is_named = script in ("-c", "-m") or _PLACEHOLDER.fullmatch(script)
            is_there = is_named or (ROOT / script).is_file()
            return None if is_there else f"{script}: there is no such script"
        if len(words) < 2 or words[1] not in VERBS:
            return f"expected ./bazelw and one of {', '.join(VERBS)}"
        split = words.index("--") if "--" in words else len(words)
        targets, flags, rest = [], [], iter(words[2:split])
        for word in rest:
            (flags if word.startswith("-") else targets).append(word)
            if word in _FLAGS_WITH_A_WORD:
                next(rest, None)
        errors = [self._flag_error(flag) for flag in flags]
        errors += [self.target_error(words[1], target) for target in targets]
        if not targets:
            errors.append("names no target")
        if words[1] == "run" and (len(targets) > 1 or targets and targets[0].endswith("...")):
            errors.append("runs more than one target")
        return next((error for error in errors if error), None)

    def _flag_error(self, flag: str) -> str | None:
        name, _, value = flag.partition("=")
        if name == "--config":
            return None if value in self._configs else f"{flag}: no such configuration in .bazelrc"
        return None if name in FLAGS else f"{name}: not a flag that bazel_commands.py knows"

    def target_error(self, verb: str, label: str) -> str | None:
        if label == "..." or _PLACEHOLDER.fullmatch(label):
            return None  # stands for any target
        if not label.startswith("//"):
            return f"{label}: expected a target that begins with //"
        folder, _, name = label[2:].partition(":")
        if folder == "..." or folder.endswith("/..."):
            below = folder.removesuffix("...")  # with a slash, or all
            known = any(f"{place}/".startswith(below) for place in self._packages)
            return None if known else f"{label}: there is no package below {below}"
        rule = self._rule_of(folder, name or posixpath.basename(folder))
        if rule is None:
            return f"{label}: no such target"
        if verb == "test" and not re.search(r"(^|_)(test|fuzz)(_|$)", rule):
            return f"{label}: is a {rule} and no test"
        return None

    def _rule_of(self, folder: str, name: str) -> str | None:
        """The rule that makes a target; for additional targets that macros make, the name itself.
        A computed part of a name matches any string of the file.
        """
        text = self._packages.get(folder, "")
        any_string = "(?:%s)" % "|".join(map(re.escape, set(_STRING.findall(text))))
        computed = made_by_macro = None
        for rule, expression in _TARGET.findall(text):
            if expression == f'"{name}"':
                return rule
            pattern = ""
            for part in re.findall(r'"[^"]*"|%|\w+', expression):
                if part == "%":
                    break
                is_string = part.startswith('"')
                pattern += re.escape(part[1:-1]) if is_string else any_string
            pattern = pattern.replace("%s", any_string)
            if re.fullmatch(pattern, name):
                computed = rule
            suffixed = re.fullmatch(rf"(?:{pattern})(_\w+)", name)
            if suffixed and f'"{suffixed[1]}' in self._macros:
                made_by_macro = name
        return computed or made_by_macro
