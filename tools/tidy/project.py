"""The tree, and everything that several rules need to know about it, computed once."""

import posixpath
import re
from functools import cached_property

from bazel_build import BuildFiles
from cpp_scan import CppDeclarations, scan_cpp
from cpp_text import Include, MaskedCpp
from source_tree import Kind, SourceFile, SourceTree

# One stem for all evidence: x.cc is tested by x_test.cc, x_property_test.cc and so on.
_EVIDENCE = re.compile(r"_(?:property_test|test|fuzz_test|fuzz|benchmark)$")


def stem(path: str) -> str:
    """The path without suffix and without the kind of evidence: what a file is about."""
    return _EVIDENCE.sub("", posixpath.splitext(path)[0])


class Project:
    def __init__(self, tree: SourceTree):
        self.tree = tree
        self._masked: dict[str, MaskedCpp] = {}
        self._declarations: dict[str, CppDeclarations] = {}
        self._includes: dict[str, list[Include]] = {}

    @cached_property
    def cpp_files(self) -> list[SourceFile]:
        return list(self.tree.of_kind(Kind.CPP))

    @cached_property
    def build(self) -> BuildFiles:
        return BuildFiles(self.tree)

    def masked(self, file: SourceFile) -> MaskedCpp:
        if file.path not in self._masked:
            self._masked[file.path] = MaskedCpp(file.text)
        return self._masked[file.path]

    def declarations(self, file: SourceFile) -> CppDeclarations:
        if file.path not in self._declarations:
            self._declarations[file.path] = scan_cpp(self.masked(file))
        return self._declarations[file.path]

    def includes(self, file: SourceFile) -> list[Include]:
        if file.path not in self._includes:
            self._includes[file.path] = self.masked(file).includes()
        return self._includes[file.path]

    def is_test(self, file: SourceFile) -> bool:
        """Whether nothing that ships contains the file."""
        return (
            bool(_EVIDENCE.search(posixpath.splitext(file.path)[0]))
            or self.is_test_support(file.path)
            or file.path in self.build.test_files
        )

    def is_test_support(self, path: str) -> bool:
        """Whether a header is for tests only."""
        return "testing" in path.split("/")[:-1] or path in self.build.test_files
