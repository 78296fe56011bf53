"""A small tree without violations, and ways to introduce one."""

from registry import rule_ids

Texts = dict[str, str | bytes | None]

_STYLE = "# Style\n\n| rule | enforced by |\n|---|---|\n" + "".join(
    f"| a rule | `tidy:{rule_id}` |\n" for rule_id in rule_ids()
)

CLEAN: Texts = {
    "WORKSPACE": 'workspace(name = "recto")\n',
    "README.md": "# A project\n\nSee the [guide](docs/guide.md#start) and [core](core/).\n",
    "STYLE.md": _STYLE,
    ".clang-tidy": "Checks: >\n  -*,\n  readability-*,\n  -readability-braces\nFormatStyle: file\n",
    ".clang-format": "ColumnLimit: 100\n",
    ".bazelrc": "build --copt=-Werror\n",
    "docs/guide.md": "# Guide\n\nBack to the [start](../README.md), or `[code](sample)`.\n",
    "core/README.md": "# core\n",
    "core/BUILD": (
        'recto_library(name = "units", srcs = ["units.cc"], hdrs = ["units.h"])\n'
        'recto_test(name = "units_test", srcs = ["units_test.cc"], deps = [":units"])\n'
    ),
    "core/units.h": "#pragma once\n\nint blocks_for(int tokens);\n",
    "core/units.cc": '#include "core/units.h"\n\nint blocks_for(int tokens) { return tokens; }\n',
    "core/units_test.cc": '#include "bazel/testing/catch.h"\n#include "core/units.h"\n',
    "bazel/testing/README.md": "# testing\n",
    "bazel/testing/BUILD": (
        "package(default_testonly = True)\n"
        'recto_library(name = "catch_main", hdrs = ["catch.h"])\n'
    ),
    "bazel/testing/catch.h": "#pragma once\n",
    "sim/README.md": "# sim\n",
    "sim/BUILD": (
        'recto_library(name = "pool", srcs = ["pool.cc"], hdrs = ["pool.h"],\n'
        '              deps = ["//core:units"])\n'
        'recto_test(name = "pool_test", srcs = ["pool_test.cc"],\n'
        '           deps = [":pool", "//bazel/testing:catch_main"])\n'
    ),
    "sim/pool.h": '#pragma once\n\n#include "core/units.h"\n',
    "sim/pool.cc": '#include "sim/pool.h"\n',
    "sim/pool_test.cc": '#include "sim/pool.h"\n',
    "verify/README.md": "# verify\n",
    "verify/BUILD": (
        'recto_test(name = "agree_test", srcs = ["agree_test.cc"], deps = ["//sim:pool"])\n'
    ),
    "verify/agree_test.cc": '#include "sim/pool.h"\n',
}


def header(code: str) -> Texts:
    return {"sim/pool.h": f'#pragma once\n\n#include "core/units.h"\n\n{code}'}


def source(code: str) -> Texts:
    return {"sim/pool.cc": f'#include "sim/pool.h"\n\n{code}'}


def test_source(code: str) -> Texts:
    return {"sim/pool_test.cc": f'#include "sim/pool.h"\n\n{code}'}


def extra_line(path: str, line: str) -> Texts:
    return {path: f"{CLEAN[path]}{line}\n"}


def script(name: str, text: str) -> Texts:
    """A file in sim/, with a target that contains it."""
    build = f'{CLEAN["sim/BUILD"]}filegroup(name = "scripts", srcs = ["{name}"])\n'
    return {f"sim/{name}": text, "sim/BUILD": build}


def overlaid(overlay: Texts) -> dict[str, str | bytes]:
    """The clean tree with some files replaced, added, or removed (None)."""
    return {path: text for path, text in (CLEAN | overlay).items() if text is not None}
