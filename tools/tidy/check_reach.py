"""No file is dead: each is built, included, or explained."""

from collections import defaultdict
from typing import Iterator

from bazel_build import file_of_label
from project import Project, stem
from rule import Finding, Rule
from source_tree import Kind

_BUILT_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".py", ".sh")
_FILE_ATTRIBUTES = ("srcs", "hdrs", "textual_hdrs", "data")


def find_dead_files(project: Project) -> Iterator[Finding]:
    for file in project.tree:
        is_code = file.suffix in _BUILT_SUFFIXES and file.kind is not Kind.DATA
        if is_code and file.path not in project.build.named_files:
            yield Finding(
                file.path,
                1,
                "no BUILD rule names this file",
                "add it to a target, delete it, or list it in allowed.txt as an entry point",
            )


def find_dead_headers(project: Project) -> Iterator[Finding]:
    users = defaultdict(set)
    for file in project.cpp_files:
        for include in project.includes(file):
            # x.cu instantiates the templates of x.cuh, and is compiled on its own.
            is_instantiation = file.suffix == ".cu" and include.path == file.path + "h"
            users[include.path].add(file.path if is_instantiation else stem(file.path))
    for file in project.cpp_files:
        if file.is_header and not users[file.path] - {stem(file.path)}:
            yield Finding(
                file.path,
                1,
                "nobody but its own .cc and tests includes this header",
                "use it, delete it, or list it in allowed.txt as public",
            )


def find_missing_files(project: Project) -> Iterator[Finding]:
    for package in project.build.packages:
        if package.error:
            message = f"cannot be read: {package.error}"
            yield Finding(package.path, 1, message, "use plain Starlark without side effects")
        targets = {target.name for target in package.targets}
        for target in package.targets:
            targets.update(target.attributes.get("outs", ()))
        for target in package.targets:
            for label in _plain_labels(target.attributes):
                path = file_of_label(label, package.folder)
                exists = path in project.tree or path in project.tree.folders
                if label.removeprefix(":") not in targets and not exists and "." in label:
                    message = f'"{target.name}" names {label}, which is not there'
                    yield Finding(package.path, target.line, message, "mend the name")


def _plain_labels(attributes: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for attribute in _FILE_ATTRIBUTES:
        for label in attributes.get(attribute, ()):
            if not label.startswith(("//", "@")):
                yield label


RULES = (
    Rule("dead-file", find_dead_files, takes_exceptions=True),
    Rule("dead-header", find_dead_headers, takes_exceptions=True),
    Rule("missing-file", find_missing_files),
)
