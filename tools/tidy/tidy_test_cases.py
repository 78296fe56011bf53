"""A small tree without violations, and for each rule what passes and what fails in it: lines of
sim/pool.cc, lines of sim/pool.h, and files in place of those of the tree, or beside them.
"""

_FIVE = "int a, int b, int c, int d, int e"
_BODY = "  f();\n" * 58
_LONG_BODY = "  f();\n" * 59
# In pieces, because this file is checked, too.
_FAST, _LATER = "-ffast" + "-math", "TO" + "DO"

CLEAN = {
    "WORKSPACE": 'workspace(name = "recto")\n',
    "README.md": "# A project\n\nSee the [guide](docs/guide.md#start) and [core](core/).\n",
    ".clang-tidy": "Checks: readability-names\n",
    ".clang-format": "ColumnLimit: 100\n",
    ".bazelrc": "build --copt=-Werror\n",
    "docs/guide.md": "# Guide\n\nBack to the [start](../README.md), or `[code](sample)`.\n",
    "core/README.md": "# core\n",
    "core/BUILD": 'recto_library(name = "core")\nrecto_test(name = "core_test")\n',
    "core/units.h": "#pragma once\n\nint blocks_for(int tokens);\n",
    "core/units.cc": '#include "core/units.h"\n\nint blocks_for(int tokens) { return tokens; }\n',
    "core/units_test.cc": '#include "bazel/testing/catch.h"\n#include "core/units.h"\n',
    "bazel/testing/README.md": "# testing\n",
    "bazel/testing/catch.h": "#pragma once\n\n#include <catch2/catch.hpp>\n",
    "sim/README.md": "# sim\n",
    "sim/BUILD": 'library(name = "sim", deps = ["//core"])\ntest(srcs = ["pool_test.cc"])\n',
    "sim/pool.h": '#pragma once\n\n#include "core/units.h"\n',
    "sim/pool.cc": '#include "sim/pool.h"\n',
    "sim/pool_test.cc": '#include "sim/pool.h"\n',
    "verify/README.md": "# verify\n",
    "verify/BUILD": 'recto_test(name = "verify_test")\n',
    "verify/agree_test.cc": '#include "sim/pool.h"\n',
    "tools/tidy/words.txt": "# word\npage[ _-]?tables? | block table | as in the design\n",
    "tools/tidy/heavy_headers.txt": "# header\ncatch2/ | bazel/testing/*.h\n",
}


def source(code):
    return {"sim/pool.cc": f'#include "sim/pool.h"\n\n{code}\n'}


def header(code):
    return {"sim/pool.h": f'#pragma once\n\n#include "core/units.h"\n\n{code}\n'}


def test(code):
    return {"sim/pool_test.cc": f'#include "sim/pool.h"\n\n{code}\n'}


def more(path, line):
    return {path: f"{CLEAN[path]}{line}\n"}


def readme(line):
    return more("README.md", line)


def script(name, text):
    return {f"sim/{name}": text + "\n", **more("sim/BUILD", f'filegroup(srcs = ["{name}"])')}


def folder(name, file, text):
    return {f"{name}/README.md": "# It\n", f"{name}/{file}": text + "\n"}


def listed(name, entry):
    return {f"tools/tidy/{name}.txt": entry + "\n"}


def _notebook(line):
    return {"notebooks/look.ipynb": f'{{"source": [\n "{line}"]}}\n'}


def _instantiated(name):
    """The kernel with no user but one that has its stem."""
    user = {f"cuda/kernels/{name}": '#include "cuda/kernels/decode.cuh"\n'}
    return {**_KERNEL, **user, **_UNKNOWING, "cuda/kernels/BUILD": f'kernels(srcs = ["{name}"])\n'}


def _package(path, text):
    files = {"python/pyproject.toml": "[project]\n", f"python/{path}": text + "\n"}
    return files | folder("python", "BUILD", 'py(srcs = glob(["*.py", "recto/*.py"]))')


_UNKNOWING = {"verify/agree_test.cc": '#include "sim/pool.h"\n'}
_KERNEL = {
    **folder("cuda/kernels", "decode.cuh", "#pragma once\n#include <cuda_runtime.h>"),
    "verify/agree_test.cc": '#include "cuda/kernels/decode.cuh"\n#include "sim/pool.h"\n',
}
_TESTS = ('name = "sim_test", deps = glob(["x"])', 'srcs = ["a_test.cc"]')
_SIX = "def f(a, b, c, d, e, *, f): pass"
_UNUSED = {"verify/agree_test.cc": "\n"}

SOURCES = {
    "include-path": (
        ["#include <vector>\n#include <zlib.h>"],
        ['#include "pool.h"', "#include <core/units.h>", "#include <sim/pool.h>"]
        + ['#include "sim/../core/units.h"'],
    ),
    "function-lines": (
        [
            f"void f() {{\n{_BODY}}}",
            "namespace a {\nclass B {\n" + "void f() {\n  g();\n}\n" * 30 + "};\n}",
            "const int kTable[] = {\n" + "  1,\n" * 80 + "};",
            'const char* text = R"({\n' + "{\n" * 70 + ')";',
            "enum class A {\n" + "  kB,\n" * 80 + "};\nstruct C {\n" + "  int d;\n" * 80 + "};",
            "const std::vector<int> table = {\n" + "  f(1),\n" * 80 + "};\nint a = f(\n    {1});",
            "void f() {\n  g();\n}\n" + "void h();\n" * 80 + "void i() {\n}",
            f"template <class T>\nauto A::operator()(T a) const -> B<T> {{\n{_BODY[:-6]}}}",
        ],
        [
            f"void f() {{\n{_LONG_BODY}}}",
            f'TEST_CASE("a name; with {{") {{\n{_LONG_BODY}}}',
            f"A::A(int a)\n    : a_{{a}}, b_(1) {{\n{_LONG_BODY}}}",
            f"template <class T>\nauto A::operator()(T a) const -> B<T> {{\n{_BODY}}}",
            f"static const auto f = [](int a) {{\n{_LONG_BODY}}};",
            "#define F() \\\n" + "  f(); \\\n" * 60 + "  g()",
            f"void f() {{\n#if A\n  f();\n#endif\n{_BODY}}}",
            "class B {\n public:\n  B* operator=(int a) {\n" + "    f();\n" * 59 + "  }\n};",
            f"void f(int a,\n       int b)\n    const {{\n  // {{\n{_BODY}}}",
        ],
    ),
    "line-columns": (
        ["// " + "x" * 97, "// " + "ö" * 97, "// see https://example.com/" + "x" * 99],
        ["// " + "x" * 98],
    ),
    "parameters": (
        [
            f"void f({_FIVE});",
            f"void f(std::map<int, A<int, int>> m = {{{{1, 2}}, {{3, 4}}}}, {_FIVE[7:]});",
            f"class A {{ A({_FIVE}) : a_{{a}}, b_(b, c, d, e, 1, 2) {{}} }};",
            "int g(std::function<void(int, int, int, int, int, int)> callback);",
            "RC_GTEST_PROP(a, b, c, d, e, f) { g(1, 2, 3, 4, 5, 6); }",
            "__global__ void __launch_bounds__(128) f(Params p) { g(1, 2, 3, 4, 5, 6); }",
            "template <class A, bool (*F)(A, A), int C, class D = M<A, A, A, A>> class X;",
        ],
        [
            f"void f({_FIVE}, int f);",
            f"class A {{\n public:\n  explicit A({_FIVE}, B<int, int> f);\n}};",
            f"struct A {{ virtual int f({_FIVE}, int f) const = 0; }};",
            "template <class A, class B, int C, int D, int... E> class X;",
        ],
    ),
    "banned-random": (
        ["void f() { core.rand(); grand(); operand(1); std::sampler s; }"],
        ["int a = rand() % 6;", "std::mt19937_64 a;", "std::uniform_int_distribution<int> a;"]
        + ["std::random_device a;", "void f() { std::shuffle(a, b, c); }"],
    ),
    "banned-clock": (
        ["// steady_clock\nvoid f() { run_time(0); engine.time(0); }"],
        ["auto a = std::chrono::system_clock::now();", "int a = std::time(NULL);"],
    ),
    "portable-math": (
        ["double f() { return std::sqrt(portable_log(1)) + shape.exp(2); }  // std::log(2)"]
        + ["double log(double x);"],
        ["double x = std::log(2.0);", "using std::pow;", "double y = 1 + log1p(2.0);"]
        + ["double f(double x) { return exp(x); }"],
    ),
    "fast-math": ([f"int a;  // {_FAST}"], ['#pragma GCC optimize("fast-math")']),
    "bare-assert": (
        ["static_assert(1 < 2);\nvoid f() { RC_ASSERT(1); }"], ["void f() { assert(1 == 1); }"]
    ),
    "exception": (
        ["void throw_on_failure();\n// throw"],
        ["void f() { throw 1; }", "void f() try {} catch (int) {}"],
    ),
    "lse-base": (
        ["int lse_ln, max_lse_log2, kLseLn, row_lse_ln_count, false_, pulse;  // the lse"],
        ["float lse;", "int return_lse;", "class LseRow;"],
    ),
    "retired-word": (
        ["int block_table, page_tableau, homepage_table;"],
        ["int page_table;", "class OurPageTable;", "// Page-tables"],
    ),
    "unfinished": (["// methods, todo lists, fixmeup"], [f"// {_LATER}: later"]),
    "environment": (
        ["// the session, sub-agent, a/work/b, network/, homework/, /usr/include, ../shared/"],
        ["// see /wo" + "rk/main", "// by a sub" + "agent", "// in this " + "session"]
        + ["// `/ho" + "me/me/x`", "// py" + "pi.org/simple", "// As an " + "AI"],
    ),
    "white-space": ([""], ["int a; ", "\tint a;", "int a;\r"]),
}
HEADERS = {
    "bool-parameter": (
        ["bool is_done(int a);\nvoid f(bool* a, bool& b, std::vector<bool> c, boolean d);"]
        + ["struct A { explicit operator bool() const; std::function<int(bool)> f; };"]
        + ["template <typename T> requires(sizeof(T) > 1) bool f(T t) { return g(true); }"],
        [
            "void f(int a, bool is_causal);",
            "struct A {\n  explicit A(const bool on = false) : on_(on) {}\n};",
            "template <int N, bool kCausal = true>\nvoid f();",
            "void f(const std::map<int, int>& a,\n       const bool& b);",
        ],
    ),
    "header-using": (
        ["using core::units;"], ["using namespace std;", "void f() { using namespace a; }"]
    ),
    "include-guard": (
        ["#ifndef RECTO_WITH_CUDA\n#define RECTO_WITH_CUDA 0\n#endif"],
        ["#ifndef RECTO_SIM_POOL_H_\n#define RECTO_SIM_POOL_H_\n#endif"],
    ),
}
TREES = {
    "arrow-include": (
        [folder("reference", "worker.cc", '#include "core/units.h"')]
        + [folder("python/recto", "worker.cc", '#include "sim/pool.h"')],
        [folder("reference", "worker.cc", '#include "sim/pool.h"')]
        + [header('#include "judged/agree.h"') | folder("judged", "agree.h", "#pragma once")]
        + [more("core/units_test.cc", '#  include "sim/pool.h"')],
    ),
    "arrow-notebook": (
        [_notebook("import pandas as pd"), _notebook("import recto")],
        [_notebook("from experiments import run"), _notebook("import verify.laws")],
    ),
    "heavy-header": (
        [source("#include <CLI/CLI.hpp>")
         | listed("heavy_headers", "CLI/ | sim/pool.cc\ncatch2/ | *.h")],
        [test("#include <catch2/catch.hpp>")]
        + [listed("heavy_headers", "catch2/ | *.h\nCLI/ | sim/pool.cc")],
    ),
    "cuda-free": (
        [_KERNEL, source("#include <boost/cuda_less.hpp>")],
        [folder("cuda/cache", "worker.cc", '#include "cuda/kernels/decode.cuh"') | _KERNEL]
        + [source("#include <cuda_fp16.h>"), source("#include <cuda/std/span>")],
    ),
    "dead-header": (
        [_UNUSED | listed("allowed", "dead-header | sim/pool.h | the interface for others")]
        + [_instantiated("decode.cu")],
        [_UNUSED, _instantiated("decode_test.cu")],
    ),
    "dead-file": (
        [{"sim/run.sh": "\n", **more("sim/BUILD", 'filegroup(srcs = glob(["*.sh"]))')}]
        + [{"sim/run_test.py": "\n", **more("sim/BUILD", 'script_test(name = "run_test")')}]
        + [{"sim/run.py": "\n", **more("core/BUILD", 'sh_test(data = ["//sim:run.py"])')}]
        + [{"sim/a_test.cc": "\n", **more("sim/BUILD", f"recto_test({test})")} for test in _TESTS],
        [{f"sim/{name}": "\n"} for name in ("lost.sh", "run_test.py", "pool_fuzz.cc")]
        + [{"sim/a_test.cc": "\n", **more("sim/BUILD", 'recto_test(srcs = ["b_test.cc"])')}],
    ),
    "file-lines": (
        [source("\n" * 297), {"docs/guide.md": "[r](../README.md)\n" * 400}],
        [source("\n" * 298), script("long.py", "\n" * 300)],
    ),
    "function-lines": (
        [script("long.py", "def f():\n" + "    g()\n" * 59 + "\n\nX = 1\n" + "\n" * 60)],
        [script("long.py", "class A:\n    def f():\n" + "        g()\n" * 60)],
    ),
    "line-columns": ([readme("word " * 30 + "end")], [script("a.py", "#" * 101)]),
    "parameters": (
        [script("run.py", "def f(self, a, b, c, d, e): pass"), _package("a.py", _SIX)],
        [script("run.py", _SIX), _package("a.py", _SIX.replace("f(", "_f("))],
    ),
    "banned-clock": ([test("auto start = std::chrono::steady_clock::now();")], []),
    "portable-math": ([test("double f() { return std::log(2); }")], []),
    "bool-parameter": ([source("void f(bool a) {}")], []),
    "header-using": ([source("using namespace std::literals;")], []),
    "fast-math": (
        [folder("cuda/kernels", "BUILD", f'library(copts = ["{_FAST}"])'), readme(_FAST)],
        [more(".bazelrc", f"build --copt={_FAST}"), more("sim/BUILD", f'a(copts = ["{_FAST}"])')],
    ),
    "pragma-once": ([], [{"core/units.h": "// #pragma once\n"}]),
    "exception": (
        [source("int a = throw 1;") | listed("allowed", "exception | sim/pool.cc | as a library")]
        + [test("void f() { throw 1; }")],
        [],
    ),
    "lse-base": ([_package("recto/a.py", "lse = 1")], [script("a.py", "lse = 1")]),
    "retired-word": ([], [readme("A page table."), listed("words", "page | block")]),
    "unfinished": ([{"sim/testdata/x.csv": _LATER}], [readme("FIX" + "ME")]),
    "environment": ([], [{"sim/testdata/x.json": '{"path": "/ro' + 'ot/results"}'}]),
    "white-space": ([{"sim/testdata/x": "1,2\t\r\n3"}], [{"sim/BUILD": 'a(name = "pool_test")'}]),
    "file-name": (
        [{"traces/Azure-2023.csv": "1\n"}, script("__init__.py", "")],
        [script("runAll.py", ""), script("pool.cpp", "")],
    ),
    "folder-readme": (
        [{"sim/corpus/odd.py": "", "data/lengths.csv": "1\n"}, _package("recto/a.py", "")],
        [_package("a.py", "") | {"python/README.md": None}, {"sim/README.md": None}]
        + [{"sim/README.md": "# sim\n" + "line\n" * 60}],
    ),
    "doc-linked": (
        [{"docs/more.md": "# More\n", "core/README.md": "[more]: ../docs/more.md\n"}],
        [{"docs/more.md": "# More, see [more](more.md)\n"}],
    ),
    "broken-link": (
        [readme("[w](https://a.b/x) [t](#a) ![p](docs/guide.md 't')\n\n```\n[s](nowhere.md)\n```")],
        [readme("[a](docs/gone.md)"), readme("[b]: ../outside.md")],
    ),
    "named-file": (
        [readme("`core/units.cc`, `units.cc`, `../core/units.cc`, `_test.cc`, `NAME_law.cc`")]
        + [readme("`units.json`, `a gone.py`\n\n```\n`gone.py`\n```")],
        [readme("`gone_test.py`"), readme("`cores/units_test.cc`"), readme("`nits.h`")],
    ),
    "allowed": (
        [],
        [listed("allowed", "dead-file | sim/pool.cc | an entry point, run by hand")]
        + [listed("allowed", "arrow-include | sim/pool.cc | because we would like to")]
        + [listed("allowed", "dead-header | sim/pool.h")],
    ),
}
