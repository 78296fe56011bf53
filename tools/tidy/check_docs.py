"""Documents: every folder has its explanation, every document can be found, every link works."""

import posixpath
import re
from typing import Iterator
from urllib.parse import unquote

from cpp_text import blank, line_at
from project import Project
from rule import Finding, Rule
from source_tree import Kind, SourceFile

README_LINES = 60  # a page

_CODE_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".py", ".sh")
_CODE_SAMPLE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|^\s{0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
# Names that begin with _ and names with NAME are patterns in documents.
_NAMED_FILE = re.compile(r"`(?:\.{1,2}/)*([\w/.-]*\w\.(?:cc|cuh?|h|py|sh|bzl))`")
_PATTERN = re.compile(r"(^|/)_|[A-Z]{2}")
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:|//")


def find_folders_without_readme(project: Project) -> Iterator[Finding]:
    folders: dict[str, str] = {}
    for file in project.tree:
        if file.folder and file.suffix in _CODE_SUFFIXES and file.kind is not Kind.DATA:
            folders.setdefault(file.folder, file.path)
    for folder, path in folders.items():
        readme = project.tree.get(f"{folder}/README.md")
        if readme is None:
            yield Finding(
                path,
                1,
                f"{folder}/ has no README.md",
                "say what it is for, its parts in reading order, what it may not know about",
            )
        elif readme.line_count > README_LINES:
            message = f"{readme.line_count} lines, the limit is {README_LINES}"
            yield Finding(readme.path, 1, message, "a page is enough; move the rest to docs/")


def find_unlinked_documents(project: Project) -> Iterator[Finding]:
    linked = set()
    for document in project.tree.of_kind(Kind.MARKDOWN):
        for _, target in _relative_links(document):
            if target != document.path:
                linked.add(target)
    for document in project.tree.of_kind(Kind.MARKDOWN):
        if document.top == "docs" and document.path not in linked:
            message = "no other document links here"
            yield Finding(document.path, 1, message, "link it from where a reader would look")


def find_broken_links(project: Project) -> Iterator[Finding]:
    for document in project.tree.of_kind(Kind.MARKDOWN):
        for line, target in _relative_links(document):
            if target not in project.tree and target not in project.tree.folders:
                message = f"the link to {target} leads nowhere"
                yield Finding(document.path, line, message, "mend or remove it")


def find_missing_named_files(project: Project) -> Iterator[Finding]:
    """`name.py` or `folder/name.py` in the text with which no file's path ends."""
    ends = set()
    for file in project.tree:
        parts = file.path.split("/")
        ends.update("/".join(parts[at:]) for at in range(len(parts)))
    for document in project.tree.of_kind(Kind.MARKDOWN):
        text = _FENCED.sub(lambda match: blank(match.group()), document.text)
        for match in _NAMED_FILE.finditer(text):
            if match[1] not in ends and not _PATTERN.search(match[1]):
                message = f"{match[1]}: there is no such file"
                yield Finding(document.path, line_at(text, match.start()), message,
                              "name the one that is there")


def _relative_links(document: SourceFile) -> Iterator[tuple[int, str]]:
    """Line and path from the root of each link to a file; links in code samples do not count."""
    text = _CODE_SAMPLE.sub(lambda match: blank(match.group()), document.text)
    for match in _LINK.finditer(text):
        link = unquote(match[1] or match[2]).split("#")[0]
        if link and not _SCHEME.match(link):
            path = posixpath.normpath(posixpath.join(document.folder, link))
            yield line_at(text, match.start()), "" if path == "." else path


RULES = (
    Rule("folder-readme", find_folders_without_readme),
    Rule("doc-linked", find_unlinked_documents),
    Rule("broken-link", find_broken_links),
    Rule("named-file", find_missing_named_files, takes_exceptions=True),
)
