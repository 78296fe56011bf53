"""BUILD files are read as Bazel reads them."""

import unittest

from bazel_build import BuildFiles
from source_tree import SourceTree


def read(texts):
    return BuildFiles(SourceTree.of_texts(texts))


def targets_of(build):
    package = read({"a/BUILD": build}).packages[0]
    assert package.error is None, package.error
    return package.targets


class BuildFilesTest(unittest.TestCase):
    def test_lists_selects_and_comprehensions_come_out_flat(self):
        sources = '["%s.cc" % n for n in ["a", "b"]] + ["c.cc"] + select({"//d:e": ["f.cc"]})'
        (target,) = targets_of(f'r(name = "x", srcs = {sources}, size = "small")')
        self.assertEqual(target.attributes["srcs"], ("a.cc", "b.cc", "c.cc", "f.cc"))
        self.assertEqual((target.rule, target.name, target.line), ("r", "x", 1))

    def test_a_target_stands_at_the_line_where_its_rule_is_called(self):
        targets = targets_of('\nr(name = "x")\n\nr(\n    name = "y",\n)\n')
        self.assertEqual([target.line for target in targets], [2, 4])

    def test_glob_stays_in_its_package_and_minds_its_exclusions(self):
        build = read(
            {
                "a/BUILD": 'r(name = "x", srcs = glob(["**/*.h", "*.cc"], exclude = ["b/*.h"]))',
                "a/b/skip.h": "",
                "a/c/d.h": "",
                "a/e.cc": "",
                "a/c/f.cc": "",
                "a/g/BUILD": "",
                "a/g/h.h": "",
            }
        )
        self.assertEqual(build.packages[0].targets[0].attributes["srcs"], ("c/d.h", "e.cc"))

    def test_constants_of_bzl_files_are_known(self):
        build = read(
            {
                "a/BUILD": 'load("//b:c.bzl", "NAMES", macro = "m")\n'
                '[macro(name = n, srcs = [n + ".cc"]) for n in NAMES]\n',
                "b/c.bzl": 'NAMES = ["x", "y"]\ndef m(name):\n    pass\n',
            }
        )
        self.assertEqual([target.name for target in build.packages[0].targets], ["x", "y"])
        self.assertLess({"a/x.cc", "a/y.cc"}, build.named_files)

    def test_files_of_tests_alone_are_test_files(self):
        build = read(
            {
                "a/BUILD": 'recto_test(name = "t", srcs = ["t.cc", "both.h"])\n'
                'lib(name = "l", hdrs = ["both.h"])\n'
                'lib(name = "m", hdrs = ["m.h"], testonly = True)\n'
                'latest(name = "n", hdrs = ["n.h"])\n'
            }
        )
        self.assertEqual(build.test_files, {"a/t.cc", "a/m.h"})

    def test_labels_and_mentions_in_starlark_name_files(self):
        build = read(
            {
                "BUILD": 'r(name = "x", data = ["//a:b.py", ":c.py", "@d//:e.py"])\n',
                "f/g.bzl": 'RUNNER = "//f:run.sh"\n',
            }
        )
        named = {name for name in build.named_files if name.endswith((".py", ".sh"))}
        self.assertEqual(named, {"a/b.py", "c.py", "f/run.sh"})

    def test_a_file_that_cannot_be_run_says_why(self):
        self.assertEqual(read({"a/BUILD": "1 / 0"}).packages[0].error[:17], "ZeroDivisionError")


if __name__ == "__main__":
    unittest.main()
