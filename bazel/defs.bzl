"""The rules of this project: cc_library and the like, with our flags, test mains and checks.

A component is a folder, or a part of one that another folder needs alone: one library, one test
program. By default its sources are those of the folder, and everything is private (`visibility`).
Attributes not named here are passed to the C++ rule.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//bazel:program_test.bzl", "program_test")

_FLAGS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    # gcc 12 reports overlapping copies in `"literal" + std::string` wrongly (PR 105651).
    "-Wno-restrict",
    # gcc 12 does not treat a precompiled standard library as a system header.
    "-Wno-array-bounds",
    "-Wno-stringop-overflow",
    "-Wno-stringop-overread",
    "-Wno-unknown-warning-option",
    # A fused multiply-add rounds once instead of twice. Whether the compiler forms one depends on
    # machine and optimiser; results must not depend on these.
    "-ffp-contract=off",
    # Programs and shared libraries link the same objects (verify/library/cuda_source/kit.bzl).
    # Hidden symbols keep calls as direct as in code for programs alone, and apart from those of a
    # program that loads a library with the same symbols.
    "-fPIC",
    "-fvisibility=hidden",
] + select({
    # gcc's flow-based warnings are wrong in instrumented code.
    "//bazel:instrumented": ["-Wno-maybe-uninitialized"],
    "//conditions:default": ["-Werror"],
})

# -O3 compiles a quarter slower, and makes no benchmark of the simulator, the reference or the block
# manager faster by more than the noise.
COPTS = _FLAGS + select({
    "//bazel:opt": ["-O2"],
    "//conditions:default": [],
})

# The code under test is fully optimised; the test itself is not, so that it compiles faster.
TEST_COPTS = _FLAGS + select({
    "//bazel:opt": ["-Og"],
    "//conditions:default": [],
})

_ARCHIVES = Label("@archives//:missing.txt").workspace_root

# Attributes of programs that run on other machines: only glibc stays shared.
PORTABLE = {
    "additional_linker_inputs": ["@archives//:archives"],
    "linkopts": select({
        # Sanitizers' own libraries share the C++ library with the program.
        "//bazel:instrumented": [],
        "//conditions:default": [
            "-L{}/installed".format(_ARCHIVES),
            "-L$(BINDIR)/" + _ARCHIVES,
            "-static-libgcc",
        ],
    }),
}

def _precompiled(name, copts):
    """(copts, deps) with which a file reads //bazel/precompiled:NAME first.

    Not used with further copts: the header was compiled without them, so the compiler would read
    its text.
    """
    if copts:
        return ([], [])
    return (
        ["-include", "$(BINDIR)/bazel/precompiled/%s.h" % name],
        ["//bazel/precompiled:" + name],
    )

# Files of a folder that are not part of its library. Programs name their sources.
_NOT_IN_LIBRARIES = ["*_test.cc", "*_benchmark.cc", "*_fuzz.cc"]

def _library_files(pattern, exclude):
    return native.glob([pattern], exclude = _NOT_IN_LIBRARIES + exclude)

def recto_library(
        name,
        srcs = None,
        hdrs = None,
        exclude = [],
        generated = [],
        deps = [],
        copts = [],
        **kwargs):
    """A library.

    Args:
      name: by convention that of the folder.
      srcs, hdrs: if neither is given, the .cc and .h files of the folder, without tests, benchmarks
        and fuzz tests.
      exclude: files of the folder that belong to another target.
      generated: further sources, made by rules.
    """
    if srcs == None and hdrs == None:
        srcs, hdrs = _library_files("*.cc", exclude), _library_files("*.h", exclude)
    first, first_deps = _precompiled("library", copts)
    cc_library(
        name = name,
        srcs = (srcs or []) + generated,
        hdrs = hdrs,
        deps = deps + first_deps,
        copts = COPTS + first + copts,
        linkstatic = True,
        **kwargs
    )

def recto_binary(name, srcs = [], deps = [], copts = [], has_portable = False, **kwargs):
    """A program.

    Args:
      has_portable: there is also NAME_portable, which runs on other machines.
    """
    first, first_deps = _precompiled("library", copts)
    cc_binary(
        name = name,
        srcs = srcs,
        deps = deps + first_deps,
        copts = COPTS + first + copts,
        **kwargs
    )
    if has_portable:
        cc_binary(
            name = name + "_portable",
            srcs = srcs,
            deps = deps + first_deps + ["//bazel/portable"],
            copts = COPTS + first + copts,
            **dict(kwargs, **PORTABLE)
        )

def recto_c_library(name, srcs, deps = [], copts = [], **kwargs):
    """A shared library in C11, to be loaded at run time. `name` ends in .so."""
    cc_binary(
        name = name,
        srcs = srcs,
        deps = deps,
        copts = [
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-ffp-contract=off",
            "-fPIC",
        ] + copts,
        linkopts = ["-lm"],
        linkshared = True,
        **kwargs
    )

def recto_test(name, srcs = None, deps = [], size = "small", copts = [], **kwargs):
    """A Catch2 test; main() is supplied. Include "bazel/testing/catch.h".

    Properties use "bazel/testing/property.h". Their seed is fixed, so runs are reproducible;
    --config=full runs ten times the cases. A failure prints the command that replays it.

    Args:
      name: by convention FOLDER_test.
      srcs: if not given, the files *_test.cc of the folder.
    """
    first, first_deps = _precompiled("test", copts)
    cc_test(
        name = name,
        srcs = native.glob(["*_test.cc"]) if srcs == None else srcs,
        deps = deps + ["//bazel/testing:catch_main"] + first_deps,
        size = size,
        copts = TEST_COPTS + first + copts,
        linkstatic = True,
        **kwargs
    )

def recto_test_cases(name, srcs, deps = [], **kwargs):
    """Test cases that several programs run, compiled once."""
    first, first_deps = _precompiled("test", [])
    cc_library(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = TEST_COPTS + first,
        linkstatic = True,
        # Nothing refers to a test case by its name.
        alwayslink = True,
        deps = deps + ["//bazel/testing:catch_main"] + first_deps,
        **kwargs
    )

def recto_benchmark(
        name,
        srcs = None,
        deps = [],
        data = [],
        smoke_args = [],
        smoke_size = "small",
        **kwargs):
    """A Google Benchmark program, and NAME_smoke_test, which runs each benchmark briefly.

    Args:
      name: by convention FOLDER_benchmark.
      srcs: if not given, the files *_benchmark.cc of the folder.
      smoke_args: more flags for the smoke test, for instance a --benchmark_filter.
    """
    recto_binary(
        name = name,
        srcs = native.glob(["*_benchmark.cc"]) if srcs == None else srcs,
        deps = deps + ["@libs//:benchmark", "//bazel/testing:benchmark_main"],
        data = data,
        testonly = True,
        **kwargs
    )
    program_test(
        name = name + "_smoke_test",
        args = ["--benchmark_min_time=0.001"] + smoke_args,
        program = name,
        size = smoke_size,
    )

def recto_fuzz_test(
        name,
        srcs,
        corpus = [],
        deps = [],
        runs = 20000,
        size = "medium",
        copts = [],
        linkopts = [],
        **kwargs):
    """A fuzz test; srcs define LLVMFuzzerTestOneInput(const uint8_t* data, size_t size).

    It runs the corpus, then `runs` mutations of it under a fixed seed. With --config=fuzz it is a
    libFuzzer program instead; with --config=full it runs for an hour.

    Args:
      corpus: files of this package to start from, usually a glob.
    """
    cc_test(
        name = name,
        srcs = srcs,
        deps = deps + select({
            "//bazel:libfuzzer": ["//bazel/testing:libfuzzer_setup"],
            "//conditions:default": ["//bazel/testing:fuzz_driver"],
        }),
        data = corpus,
        args = ["-runs=%d" % runs] + ["$(rootpath %s)" % file for file in corpus],
        size = size,
        copts = COPTS + copts,
        linkopts = linkopts + select({
            "//bazel:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        **kwargs
    )

def recto_script_test(
        name,
        script = None,
        files = [],
        args = [],
        data = [],
        size = "small",
        needs_packages = False,
        tags = [],
        **kwargs):
    """A test that is a script, whose first line names its interpreter.

    Args:
      script: if not given, NAME.py.
      files: labels of one file each, whose paths are its first arguments.
      args: further arguments.
      data: further files that it reads.
      needs_packages: the script is Python and imports packages of //bazel/python:requirements.txt.
        It runs with these, and with RECTO_PYTHON naming its interpreter; without the packages it is
        skipped.
    """
    script = script or name + ".py"
    packages = ["@python_packages//:interpreter.txt", "@python_packages//:why_none.txt"]
    before = packages + [script] if needs_packages else []
    program_test(
        name = name,
        args = ["$(location %s)" % file for file in before + files] + args,
        data = before + files + data,
        program = "//bazel/python:run_with_packages.sh" if needs_packages else script,
        size = size,
        # Tells bazelw that the packages are needed.
        tags = tags + (["needs_packages"] if needs_packages else []),
        **kwargs
    )
