"""The rules of this project: cc_library and the like, with our flags, test mains and checks.

Everything is private unless `visibility` says otherwise. Attributes not named here are passed on to
the C++ rule.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//bazel:header_probes.bzl", "header_probes")
load("//bazel:program_test.bzl", "program_test")

_FLAGS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    # gcc 12 sees overlapping copies in `"literal" + std::string` where there are none (PR 105651).
    "-Wno-restrict",
    "-Wno-unknown-warning-option",
    # A fused multiply-add rounds once instead of twice; whether one is formed depends on machine
    # and optimiser, and results may not.
    "-ffp-contract=off",
] + select({
    # gcc's flow-based warnings are wrong in instrumented code.
    "//bazel:instrumented": ["-Wno-maybe-uninitialized"],
    "//conditions:default": ["-Werror"],
})

_COPTS = _FLAGS + select({
    "//bazel:opt": ["-O3"],
    "//conditions:default": [],
})

# What a test calls is optimised fully; the test itself need not be, and compiles a quarter faster.
_TEST_COPTS = _FLAGS + select({
    "//bazel:opt": ["-O1"],
    "//conditions:default": [],
})

def recto_library(
        name,
        hdrs = [],
        srcs = [],
        deps = [],
        visibility = None,
        testonly = False,
        copts = [],
        **kwargs):
    """A library, and NAME_headers_check, which compiles on its own each header that has no .cc.

    (Bazel's own parse_headers feature is missing in Bazel 4.)
    """
    cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs,
        deps = deps,
        copts = _COPTS + copts,
        linkstatic = True,
        testonly = testonly,
        visibility = visibility,
        **kwargs
    )

    # A header that its own .cc includes first has been compiled on its own.
    headers = [
        file
        for file in hdrs + srcs
        if file.endswith(".h") and file[:-len(".h")] + ".cc" not in srcs
    ]
    if headers:
        header_probes(
            name = name + "_header_probes",
            headers = headers,
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
        cc_library(
            name = name + "_headers_check",
            srcs = [name + "_header_probes"],
            # Only the front end's diagnostics are wanted.
            copts = _COPTS + copts + ["-O0"],
            linkstatic = True,
            testonly = testonly,
            visibility = ["//visibility:private"],
            deps = [name],
        )

def recto_binary(name, srcs = [], deps = [], copts = [], **kwargs):
    """A program."""
    cc_binary(name = name, srcs = srcs, deps = deps, copts = _COPTS + copts, **kwargs)

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
            # By default nothing is built as position-independent code (.bazelrc).
            "-fPIC",
        ] + copts,
        linkopts = ["-lm"],
        linkshared = True,
        **kwargs
    )

def recto_test(name, srcs, deps = [], data = [], size = "small", copts = [], **kwargs):
    """A Catch2 test; main() is supplied. Include "bazel/testing/catch.h"."""
    cc_test(
        name = name,
        srcs = srcs,
        deps = deps + ["//bazel/testing:catch_main"],
        data = data,
        size = size,
        copts = _TEST_COPTS + copts,
        linkstatic = True,
        **kwargs
    )

def recto_property_test(name, srcs, deps = [], **kwargs):
    """A recto_test of properties. Include "bazel/testing/property.h".

    The seed is fixed, so that runs are repeatable; --config=full runs ten times the cases. A
    failure prints the command that replays it.
    """
    recto_test(name = name, srcs = srcs, deps = deps + ["//bazel/testing:property"], **kwargs)

def recto_benchmark(
        name,
        srcs,
        deps = [],
        data = [],
        smoke_args = [],
        smoke_size = "small",
        **kwargs):
    """A Google Benchmark program, and NAME_smoke_test, which runs each benchmark briefly.

    Args:
      smoke_args: more flags for the smoke test, for instance a --benchmark_filter.
    """
    recto_binary(
        name = name,
        srcs = srcs,
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
    libFuzzer program instead; with --config=full it goes on for an hour.

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
        copts = _COPTS + copts,
        linkopts = linkopts + select({
            "//bazel:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        **kwargs
    )

def recto_script_test(
        name,
        script,
        args = [],
        data = [],
        size = "small",
        needs_packages = False,
        tags = [],
        **kwargs):
    """A test that is a script, whose first line names its interpreter.

    Args:
      needs_packages: the script is Python and imports packages of //bazel/python:requirements.txt.
        It is run with these, and with RECTO_PYTHON naming its interpreter; where they could not be
        had it is skipped.
    """
    if not needs_packages:
        program_test(
            name = name,
            args = args,
            data = data,
            program = script,
            size = size,
            tags = tags,
            **kwargs
        )
        return
    packages = ["@python_packages//:interpreter.txt", "@python_packages//:why_none.txt"]
    program_test(
        name = name,
        args = ["$(location %s)" % file for file in packages + [script]] + args,
        data = packages + [script] + data,
        program = "//bazel/python:run_with_packages.sh",
        size = size,
        # Tells bazelw that the packages are needed.
        tags = tags + ["needs_packages"],
        **kwargs
    )
