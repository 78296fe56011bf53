"""For each rule about the text of a file: what must pass, and what must fail."""

from case_tree import Texts, extra_line, header, script, source, test_source

_FIVE = "int a, int b, int c, int d, int e"
_SHORT_BODY = "  f();\n" * 58
_LONG_BODY = "  f();\n" * 59
_LONG_PYTHON = "def f():\n" + "    g()\n" * 60
_FAST = "-ffast" + "-math"
_LATER = "TO" + "DO"


def _kernel(code: str) -> Texts:
    return {
        "cuda/kernels/README.md": "# kernels\n",
        "cuda/kernels/BUILD": f'recto_library(name = "k", srcs = ["k.cu"], copts = ["{_FAST}"])\n',
        "cuda/kernels/k.cu": code,
    }


PASSES: dict[str, list[Texts]] = {
    "file-lines": [source("\n" * 298), {"docs/guide.md": "[r](../README.md)\n" * 400}],
    "function-lines": [
        source(f"void f() {{\n{_SHORT_BODY}}}\n"),
        source("namespace a {\nclass B {\n" + "void f() {\n  g();\n}\n" * 30 + "};\n}\n"),
        source("const int kTable[] = {\n" + "  1,\n" * 80 + "};\n"),
        source('const char* text = R"({\n' + "{\n" * 70 + ')";\n'),
    ],
    "line-columns": [
        source("// " + "x" * 97 + "\n"),
        source("// " + "ö" * 97 + "\n"),
        source("// see https://example.com/" + "x" * 99 + "\n"),
        extra_line("README.md", "word " * 30 + "end"),
    ],
    "parameters": [
        source(f"void f({_FIVE});\n"),
        source(f"void f(std::map<int, A<int, int>> m = {{{{1, 2}}, {{3, 4}}}}, {_FIVE[7:]});\n"),
        source(f"class A {{ A({_FIVE}) : a_{{a}}, b_(b, c, d, e, 1, 2) {{}} }};\n"),
        source("int g(std::function<void(int, int, int, int, int, int)> callback);\n"),
        source("RC_GTEST_PROP(a, b, c, d, e, f) { g(1, 2, 3, 4, 5, 6); }\n"),
        source("__global__ void __launch_bounds__(128) f(Params p) { g(1, 2, 3, 4, 5, 6); }\n"),
        script("run.py", "def f(self, a, b, c, d, e): pass\n"),
    ],
    "template-parameters": [
        header("template <class A, bool (*F)(A, A), int C, class D = M<A, A, A, A>> class X;\n"),
    ],
    "pragma-once": [header("")],
    "bool-parameter": [
        header("bool is_done(int a);\nvoid f(bool* done, bool& is_found, std::vector<bool> a, boolean b);\n"),
        header("struct A { explicit operator bool() const; std::function<int(bool)> f; };\n"),
        header("template <typename T> requires(sizeof(T) > 1) bool f(T t) { return g(true); }\n"),
        source("void f(bool a) {}\n"),
    ],
    "banned-random": [source("void f() { core.rand(); grand(); operand(1); std::sampler s; }\n")],
    "banned-clock": [
        source("// steady_clock\nvoid f() { run_time(0); engine.time(0); }\n"),
        test_source("auto start = std::chrono::steady_clock::now();\n"),
    ],
    "header-using": [header("using core::units;\n"), source("using namespace std::literals;\n")],
    "bare-assert": [source("static_assert(1 < 2);\nvoid f() { RC_ASSERT(1); }\n")],
    "include-guard": [header("#ifndef RECTO_WITH_CUDA\n#define RECTO_WITH_CUDA 0\n#endif\n")],
    "lse-base": [
        source("int lse_ln, max_lse_log2, kLseLn, row_lse_ln_count, false_, pulse, elsewhere;\n"),
        source("// the lse of a row\n"),
    ],
    "page-table": [source("// vLLM's page_table\nint block_table, page_tableau, homepage;\n")],
    "exception": [
        source("void throw_on_failure();\n// throw\n"),
        test_source("void f() { throw 1; }\n"),
        extra_line("core/BUILD", 'recto_library(name = "c", srcs = ["contract.cc"])')
        | {"core/contract.cc": "void f() { throw 1; }\n"},
    ],
    "json-library": [
        source("// nlohmann\nvoid f() { print(\"nlohmann\"); json_text(json); }\n"),
        extra_line("core/BUILD", 'recto_library(name = "j", srcs = ["json.cc"])')
        | {"core/json.cc": "#include <nlohmann/json.hpp>\n\nnlohmann::json f();\n"},
    ],
    "fast-math": [_kernel("\n"), extra_line("README.md", f"Never `{_FAST}`.")],
    "portable-math": [
        source("double f() { return std::sqrt(portable_log(1)) + shape.exp(2); }\n"),
        source("// std::log(2)\ndouble log(double x);\n"),
        test_source("double f() { return std::log(2); }\n"),
    ],
    "unfinished": [source("// methods, todo lists, fixmeup\n"), {"sim/testdata/x.csv": _LATER}],
    "environment": [
        source("// the session, sub-agent, a/work/b, network/, homework/\n"),
        extra_line("README.md", "See /usr/include and ./work/x and ../shared/."),
    ],
    "white-space": [{"sim/testdata/crlf.csv": "1,2\t\r\n3"}, source("\n")],
}

FAILS: dict[str, list[Texts]] = {
    "file-lines": [source("\n" * 299), script("long.py", "\n" * 301), script("a.sh", "\n" * 301)],
    "function-lines": [
        source(f"void f() {{\n{_LONG_BODY}}}\n"),
        source(f'TEST_CASE("a name; with {{") {{\n{_LONG_BODY}}}\n'),
        source(f"A::A(int a)\n    : a_{{a}}, b_(1) {{\n{_LONG_BODY}}}\n"),
        source(f"template <class T>\nauto A::operator()(T a) const -> B<T> {{\n{_SHORT_BODY}}}\n"),
        source(f"struct B : C<int> {{\nbool operator==(B b) {{\n{_LONG_BODY}}}\n}};\n"),
        source(f"static const auto f = [](int a) {{\n{_LONG_BODY}}};\n"),
        source(f"void f() {{\n  auto g = [&] {{\n{_SHORT_BODY}  }};\n}}\n"),
        source("#define F() \\\n" + "  f(); \\\n" * 60 + "  g()\n"),
        source("void f() {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\n"),
        script("long.py", _LONG_PYTHON),
        script("broken.py", "def f(:\n"),
    ],
    "line-columns": [source("// " + "x" * 98 + "\n"), script("a.py", "#" * 101 + "\n")],
    "parameters": [
        source(f"void f({_FIVE}, int f);\n"),
        header(f"class A {{\n public:\n  explicit A({_FIVE}, B<int, int> f);\n}};\n"),
        source(f"A::A({_FIVE}, int f) : a_{{a}} {{}}\n"),
        header(f"struct A {{ virtual int f({_FIVE}, int f) const = 0; }};\n"),
        script("run.py", "def f(a, b, c, d, e, *, f): pass\n"),
    ],
    "template-parameters": [
        header("template <class A, class B, int C, int D, int... E> class X;\n"),
    ],
    "pragma-once": [
        {"sim/pool.h": '#include "core/units.h"\n'},
        {"core/units.h": "// #pragma once\n"},
    ],
    "bool-parameter": [
        header("void f(int a, bool is_causal);\n"),
        header("void f(bool);\n"),
        header("struct A {\n  explicit A(const bool on = false) : on_(on) {}\n};\n"),
        header("template <int N, bool kCausal = true>\nvoid f();\n"),
        header("void f(const std::map<int, int>& a,\n       const bool& b);\n"),
    ],
    "banned-random": [
        source("int f() { return rand() % 6; }\n"),
        source("std::mt19937_64 engine;\n"),
        source("std::uniform_int_distribution<int> d(1, 6);\n"),
        source("std::random_device device;\n"),
        source("void f() { std::shuffle(a, b, c); }\n"),
    ],
    "banned-clock": [
        source("auto now = std::chrono::system_clock::now();\n"),
        source("auto now = time(nullptr);\n"),
        source("auto now = std::time(NULL);\n"),
    ],
    "header-using": [header("using namespace std;\n"), header("void f() { using namespace a; }\n")],
    "bare-assert": [source("void f() { assert(1 == 1); }\n")],
    "include-guard": [header("#ifndef RECTO_SIM_POOL_H_\n#define RECTO_SIM_POOL_H_\n#endif\n")],
    "lse-base": [source("float lse;\n"), source("int return_lse;\n"), source("class LseRow;\n")],
    "page-table": [source("int page_table;\n"), source("class PageTable;\n")],
    "exception": [source("void f() { throw 1; }\n"), source("void f() try {} catch (int) {}\n")],
    "json-library": [
        source("#include <nlohmann/json.hpp>\n"),
        header("inline auto f(const nlohmann::json& json) { return json; }\n"),
        test_source("const int kVersion = NLOHMANN_JSON_VERSION_MAJOR;\n"),
    ],
    "fast-math": [
        extra_line(".bazelrc", f"build --copt={_FAST}"),
        extra_line("sim/BUILD", f'recto_library(name = "a", copts = ["{_FAST}"])'),
        source('#pragma GCC optimize("fast-math")\n'),
    ],
    "portable-math": [
        source("double x = std::log(2.0);\n"),
        source("using std::pow;\n"),
        source("double f(double x) { return exp(x); }\n"),
        source("double y = 1 + log1p(2.0);\n"),
    ],
    "unfinished": [source(f"// {_LATER}: later\n"), extra_line("README.md", "FIX" + "ME")],
    "environment": [
        source("// see /wo" + "rk/main\n"),
        extra_line("README.md", "Run it in /ro" + "ot/x or `/ho" + "me/me/x`."),
        extra_line("README.md", "From https://py" + "pi.org/simple."),
        {"sim/testdata/manifest.json": '{"path": "/ro' + 'ot/results"}'},
        source("// Written by a sub" + "agent in this " + "session\n"),
    ],
    "white-space": [
        source("int a; \n"),
        source("\tint a;\n"),
        source("int a;\r\n"),
        source("int a;"),
        extra_line("README.md", "a  "),
    ],
}
