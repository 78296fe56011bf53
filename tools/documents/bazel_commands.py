"""Whether a `./bazelw` line could be run: its targets, their kinds, its flags.

Bazel itself can't be called inside a test.
"""

import posixpath
import re
from pathlib import Path

from script_flags import script_flags_error
from shell_words import simple_commands, without_prefixes

ROOT = Path(__file__).resolve().parents[2]
VERBS = ("build", "test", "run")
FLAGS = {"-c", "--disk_cache", "--jobs", "--nocache_test_results", "--test_arg", "--test_filter"}
FLAGS |= {"--test_output", "--test_timeout"}
_FLAGS_WITH_A_WORD = {"-c"}
_PLACEHOLDER = re.compile(r"[A-Z_]+")
_CONFIG = re.compile(r"^(?:build|test):(\w+) ", re.MULTILINE)


class BazelCommands:
    def __init__(self, packages, bazelrc: str, macros: str, help_of_recto=lambda _: ""):
        """`packages` as bazel_targets.py reads them; `macros` is the text of all .bzl files, and
        `help_of_recto` gives the help of a command of recto.
        """
        self._help_of_recto = help_of_recto
        self._packages = {package.folder: package for package in packages}
        self._configs = set(_CONFIG.findall(bazelrc))
        self._macros = macros

    def error(self, statement: str) -> str | None:
        words = without_prefixes(simple_commands(statement)[0])
        if words[1:] == ["..."]:
            return None  # whatever the command
        if words[1:] == ["browser"]:
            return None  # a command of ./bazelw itself
        if words[1:2] == ["python"]:
            return self._script_error(words[2:])
        if len(words) < 2 or words[1] not in VERBS:
            return f"expected ./bazelw and one of {', '.join(VERBS)}"
        split = words.index("--") if "--" in words else len(words)
        targets, flags, rest = [], [], iter(words[2:split])
        for word in rest:
            (flags if word.startswith("-") else targets).append(word)
            if word in _FLAGS_WITH_A_WORD:
                next(rest, None)
        errors = [self._flag_error(flag) for flag in flags]
        errors += [self._target_error(words[1], target) for target in targets]
        if not targets:
            errors.append("names no target")
        if words[1] == "run" and (len(targets) > 1 or targets and targets[0].endswith("...")):
            errors.append("runs more than one target")
        return next((error for error in errors if error), None)

    def program_error(self, path: str) -> str | None:
        """Checks bazel-bin/FOLDER/NAME, which some `./bazelw build` before it has made."""
        folder, name = posixpath.split(path.removeprefix("bazel-bin/"))
        return self._target_error("run", f"//{folder}:{name}")

    def runs_recto(self, statement: str) -> list[str] | None:
        """What comes after `--`, if the target is the recto program."""
        words = without_prefixes(simple_commands(statement)[0])
        if words[1:2] != ["run"] or "--" not in words or "//experiments:recto" not in words:
            return None
        return words[words.index("--") + 1 :]

    def _script_error(self, words: list[str]) -> str | None:
        if not words or words[0] in ("-c", "-m") or _PLACEHOLDER.fullmatch(words[0]):
            return None  # is named but not called, or is not a file
        if not (ROOT / words[0]).is_file():
            return f"{words[0]}: there is no such script"
        return script_flags_error(ROOT / words[0], words[1:], self._help_of_recto)

    def _flag_error(self, flag: str) -> str | None:
        name, _, value = flag.partition("=")
        if name == "--config":
            return None if value in self._configs else f"{flag}: no such configuration in .bazelrc"
        return None if name in FLAGS else f"{name}: not a flag that bazel_commands.py knows"

    def _target_error(self, verb: str, label: str) -> str | None:
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
        is_test = bool(re.search(r"(^|_)(test|fuzz)(_|$)", rule))
        if verb == "test" and not is_test:
            return f"{label}: is a {rule} and no test"
        return None

    def _rule_of(self, folder: str, name: str) -> str | None:
        """The rule that makes a target; for additional targets that macros make, the name
        itself."""
        if folder not in self._packages:
            return None
        targets = {target.name: target.rule for target in self._packages[folder].targets}
        if name in targets:
            return targets[name]
        for base in targets:
            suffix = name.removeprefix(base)
            if suffix != name and suffix.startswith("_") and f'"{suffix}' in self._macros:
                return name
        return None
