"""For each rule about the tree as a whole: what must pass, and what must fail."""

from case_tree import CLEAN, Texts, extra_line, header, script, source, test_source

_WORKER = 'recto_library(name = "worker", srcs = ["worker.cc"],'


def _library(folder: str, code: str, attributes: str = "") -> Texts:
    """A library in a folder of its own."""
    return {
        f"{folder}/README.md": f"# {folder}\n",
        f"{folder}/BUILD": f"{_WORKER}\n{attributes})\n",
        f"{folder}/worker.cc": code,
    }


def _deps(label: str) -> str:
    return f'deps = ["{label}"]'


def _notebook(statement: str) -> Texts:
    cell = f'{{"cell_type": "code", "source": ["{statement}"]}}'
    return {"notebooks/look.ipynb": f'{{"cells": [{cell}]}}'}


_KERNEL: Texts = {
    "cuda/kernels/README.md": "# kernels\n",
    "cuda/kernels/BUILD": 'recto_library(name = "decode", hdrs = ["decode.cuh"])\n',
    "cuda/kernels/decode.cuh": "#pragma once\n#include <cuda_runtime.h>\n",
    "verify/agree_test.cc": '#include "cuda/kernels/decode.cuh"\n#include "sim/pool.h"\n',
}


def _instantiated(name: str) -> Texts:
    """The kernel with no user but one that has its stem."""
    build = f'cuda_kernels(name = "k", srcs = ["{name}"], hdrs = ["decode.cuh"])\n'
    return {
        "cuda/kernels/BUILD": build,
        f"cuda/kernels/{name}": '#include "cuda/kernels/decode.cuh"\n',
        "verify/agree_test.cc": '#include "sim/pool.h"\n',
    }


_COMPUTED_BUILD = """
[recto_library(name = n, hdrs = [n + ".h"], srcs = glob(["%s*.cc" % n])) for n in ["pool"]]
"""
_WITHOUT_SOURCES = CLEAN["sim/BUILD"].replace('srcs = ["pool.cc"], ', "")
_AGREE_LIBRARY = 'recto_library(name = "agree", hdrs = ["agree.h"], srcs = ["agree_test.cc"])\n'
_LONG_README = "# sim\n" + "line\n" * 60

PASSES: dict[str, list[Texts]] = {
    "arrow-include": [
        _library("reference", '#include "core/units.h"\n', _deps("//core:units")),
        _library("experiments", '#include "sim/pool.h"\n', _deps("//sim:pool")),
        source('// #include "cuda/paged.h"\n'),
    ],
    "arrow-dep": [
        _library("notebooks", "", 'data = ["//experiments:results"]'),
        _library("reference", "", 'data = ["//tools:run"], visibility = ["//verify:x"]'),
    ],
    "arrow-notebook": [_notebook("import pandas as pd\\n%matplotlib inline")],
    "include-path": [
        source("#include <vector>\n#include <zlib.h>\n"),
        extra_line("sim/BUILD", 'genrule(name = "g", outs = ["table.h"])')
        | source('#include "sim/table.h"\n'),
    ],
    "own-header-first": [
        source('#include "core/units.h"\n'),
        {"sim/pool.cc": '// #include "core/units.h"\n#include "sim/pool.h"\n'},
        test_source('#include "core/units.h"\n'),
    ],
    "test-only-include": [
        test_source('#include "bazel/testing/catch.h"\n'),
        _library("verify/laws", '#include "bazel/testing/catch.h"\n', "testonly = True"),
    ],
    "cuda-free": [_KERNEL, source("#include <boost/cuda_less.hpp>\n")],
    "dead-file": [
        {"sim/BUILD": 'recto_library(name = "all", srcs = glob(["**/*.cc"]) + ["pool.h"])\n'},
        {"sim/BUILD": _COMPUTED_BUILD},
        {"sim/testdata/odd.py": "\tnot ours\r\n"},
    ],
    "dead-header": [
        {"tools/tidy/allowed.txt": "dead-header | sim/pool.h | the API for those who embed us\n"}
        | {"verify/agree_test.cc": "\n"},
        _KERNEL | _instantiated("decode.cu"),
    ],
    "missing-file": [
        extra_line(
            "sim/BUILD",
            'genrule(name = "a.txt", srcs = [":b.txt"])\n'
            'genrule(name = "b", outs = ["b.txt"], srcs = ["//core:units.h"])',
        ),
    ],
    "folder-readme": [{"sim/corpus/odd.py": "", "data/lengths.csv": "1\n"}],
    "doc-linked": [{"docs/more.md": "# More\n", "core/README.md": "[more]: ../docs/more.md\n"}],
    "broken-link": [
        extra_line("README.md", "[web](https://example.com/x) [top](#a) ![p](docs/guide.md 't')"),
        extra_line("README.md", "```\n[sample](nowhere.md)\n```"),
    ],
    "named-file": [
        extra_line("README.md", "`core/units_test.cc`, `units_test.cc`, `../core/units_test.cc`"),
        extra_line("README.md", "`NAME_law.cc`, `_test.cc`, `units.json`, `a gone.py`"),
        extra_line("README.md", "```\n`gone.py`\n```"),
    ],
    "style-map": [
        extra_line("STYLE.md", "| x | `clang-tidy:readability-names`, `compiler:-Werror` |"),
        extra_line("STYLE.md", "| x | `clang-format:ColumnLimit`, review |"),
    ],
    "file-name": [
        {"docs/0001-first_choice.md": "", "docs/guide.md": "[1](0001-first_choice.md)\n"},
        {"traces/Azure-2023.csv": "1\n"},
        script("__init__.py", ""),
    ],
}

FAILS: dict[str, list[Texts]] = {
    "arrow-include": [
        _library("reference", '#include "sim/pool.h"\n'),
        header('#include "verify/agree.h"\n')
        | {"verify/agree.h": "#pragma once\n", "verify/BUILD": _AGREE_LIBRARY},
        {"core/units.cc": '#include "core/units.h"\n#include "sim/pool.h"\n'},
        _KERNEL | {"cuda/kernels/decode.cuh": '#pragma once\n#include "sim/pool.h"\n'},
        {"core/units_test.cc": CLEAN["core/units_test.cc"] + '#  include "sim/pool.h"\n'},
    ],
    "arrow-dep": [
        _library("reference", "", _deps("//sim:pool")),
        _library("cuda", "", 'data = select({"a": ["//reference:data"]})'),
        _library("experiments", "", _deps("//tools/tidy:tidy")),
    ],
    "arrow-notebook": [_notebook("from experiments import run")],
    "include-path": [
        source('#include "pool.h"\n'),
        source('#include "sim/gone.h"\n'),
        source('#include "sim/../core/units.h"\n'),
        source("#include <core/units.h>\n"),
    ],
    "own-header-first": [
        {"sim/pool.cc": '#include "core/units.h"\n#include "sim/pool.h"\n'},
        {"sim/pool.cc": "#include <vector>\n"},
        {"sim/pool.cc": "int pool;\n"},
    ],
    "test-only-include": [
        source('#include "bazel/testing/catch.h"\n'),
        extra_line("sim/BUILD", 'recto_library(name = "a", deps = ["//bazel/testing:catch_main"])'),
    ],
    "cuda-free": [
        source("#include <cuda_fp16.h>\n"),
        source("#include <cuda/std/span>\n"),
        _library("cuda/cache", '#include "cuda/kernels/decode.cuh"\n') | _KERNEL,
    ],
    "dead-file": [{"sim/lost.cc": "\n"}, {"sim/lost.sh": "\n"}, {"sim/BUILD": _WITHOUT_SOURCES}],
    "dead-header": [
        {"verify/agree_test.cc": "\n"},
        _KERNEL | _instantiated("decode_test.cu"),
    ],
    "missing-file": [
        extra_line("sim/BUILD", 'filegroup(name = "a", data = ["gone.csv"])'),
        extra_line("verify/BUILD", "1 / 0"),
    ],
    "folder-readme": [{"sim/README.md": None}, {"sim/README.md": _LONG_README}],
    "doc-linked": [{"docs/more.md": "# More, see [more](more.md)\n"}],
    "broken-link": [
        extra_line("README.md", "[a](docs/gone.md)"),
        extra_line("README.md", "[b]: ../outside.md"),
    ],
    "named-file": [
        extra_line("README.md", "`gone_test.py`"),
        extra_line("README.md", "`cores/units_test.cc`"),
        extra_line("README.md", "`nits_test.cc`"),
    ],
    "style-map": [
        {"STYLE.md": None},
        {"STYLE.md": CLEAN["STYLE.md"].replace("| a rule | `tidy:dead-file` |\n", "")},
        extra_line("STYLE.md", "| x | `tidy:invented` |"),
        extra_line("STYLE.md", "| x | nothing |"),
        extra_line("STYLE.md", "| x | `clang-tidy:readability-braces` |"),
        extra_line("STYLE.md", "| x | `clang-tidy:misc-names` |"),
        extra_line("STYLE.md", "| x | `compiler:-Wpedantic` |"),
        extra_line("STYLE.md", "| x | `clang-format:TabWidth` |"),
        extra_line("STYLE.md", "| x | `bazel:header_probes` |"),
        extra_line("STYLE.md", "line\n" * 120),
    ],
    "file-name": [
        script("runAll.py", "\n"),
        script("pool.cpp", "\n"),
        {"docs/Guide.md": "\n", "docs/guide.md": "[G](Guide.md)\n"},
    ],
    "ratchet": [
        {"tools/tidy/ratchet.txt": "file-lines | sim/pool.cc | 400 | it was long once\n"},
        {"tools/tidy/ratchet.txt": "line-columns | sim/long.py | 130 | a long table row\n"}
        | script("long.py", "#" * 120 + "\n"),
        {"tools/tidy/ratchet.txt": "line-columns | sim/pool.cc | 120 | why\n"},
    ],
    "allowed": [
        {"tools/tidy/allowed.txt": "dead-file | sim/pool.cc | an entry point, run by hand\n"},
        {"tools/tidy/allowed.txt": "arrow-include | sim/pool.cc | because we would like to\n"},
        {"tools/tidy/allowed.txt": "dead-file | sim/pool.cc\n"},
    ],
}
