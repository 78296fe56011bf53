"""Kernels for the executor: unchanged CUDA sources, compiled by the host compiler."""

load("//bazel:defs.bzl", "recto_library")
load("//verify/simt:variants.bzl", "KERNEL_TAG")

# Every access to memory becomes a call of a hook, which verify/simt/checks defines.
OBSERVED_COPTS = [
    # The two sanitizers exclude each other: under --config=asan everything but the kernels has
    # AddressSanitizer.
    "-fno-sanitize=address",
    "-fsanitize=thread",
    # Also checks NVIDIA's pairs of halves, which are copied half by half.
    "-fsanitize=alignment",
    # Makes copies calls, too, and keeps loads of vectors in one piece.
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-fno-tree-sra",
    "-U_FORTIFY_SOURCE",
    # Fences become calls, too.
    "-Wno-tsan",
]

KERNEL_COPTS = [
    # Line numbers, for findings; addr2line of binutils 2.40 takes one file for another in
    # version 5.
    "-g1",
    "-gdwarf-4",
    # Reduces compile time to a tenth; only debuggers would use it.
    "-fno-var-tracking",
    "-fno-var-tracking-assignments",
    # Optimised builds of Bazel define NDEBUG; nvcc does not, and keeps assert().
    "-UNDEBUG",
]

# ThreadSanitizer's own runtime defines the hooks; clang's fuzzer does not know all flags.
OBSERVED_COMPATIBLE = select({
    "//bazel:libfuzzer": ["//bazel:unsupported"],
    "//bazel:tsan": ["//bazel:unsupported"],
    "//conditions:default": [],
})

# The ways in which kernels are compiled: (suffix, copts, libraries to link, compatible). With calls
# for each access, -O1 is as good as -O2, and compiles in two thirds of the time.
KERNEL_BUILDS = [
    ("", KERNEL_COPTS, [], []),
    (
        "_observed",
        OBSERVED_COPTS + KERNEL_COPTS + select({
            "//bazel:opt": ["-O1"],
            "//conditions:default": [],
        }),
        ["//verify/simt/checks:access_hooks"],
        OBSERVED_COMPATIBLE,
    ),
]

_TOLERANT_COPTS = [
    # "#pragma unroll" is for nvcc.
    "-Wno-unknown-pragmas",
    # Typical kernel code: "threadIdx.x < n" compiles, unused names are warnings.
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
    "-Wno-error=unused-but-set-variable",
    "-Wno-error=unused-function",
    "-Wno-error=unused-variable",
    # Kernels access the same bytes through several types, as nvcc allows.
    "-fno-strict-aliasing",
]

def _units_impl(ctx):
    units = []
    for source in ctx.files.srcs:
        unit = ctx.actions.declare_file("%s/%s.cc" % (ctx.label.name, source.basename))
        path = source.path[len(source.root.path):].strip("/")
        ctx.actions.write(unit, '#include "%s"\n' % path)
        units.append(unit)
    return [DefaultInfo(files = depset(units))]

_units = rule(
    implementation = _units_impl,
    doc = "C++ files that include CUDA files, whose names Bazel 4 would not compile.",
    attrs = {"srcs": attr.label_list(allow_files = [".cu"])},
)

_SUFFIXES = ["", "_observed"]

def simt_kernels(name, srcs, hdrs = [], deps = [], copts = [], suffixes = _SUFFIXES, **kwargs):
    """A library of kernels, and NAME_observed, the same with observed accesses.

    Args:
      srcs: .cu files.
      hdrs: .cuh files that they include.
      copts: more flags of the host compiler, after all others, such as "-O0", because the
        optimiser removes reads whose result is unused.
      suffixes: which of the two libraries to define; large ones are built only once.
    """
    _units(name = name + "_units", srcs = srcs, testonly = kwargs.get("testonly", False))
    for suffix, built, hooks, compatible in KERNEL_BUILDS:
        if suffix in suffixes:
            recto_library(
                name = name + suffix,
                srcs = [name + "_units"],
                hdrs = [],
                textual_hdrs = srcs + hdrs,
                copts = built + _TOLERANT_COPTS + copts,
                local_defines = ["RECTO_SIMT_KERNEL_FILE"],
                tags = [KERNEL_TAG],
                target_compatible_with = compatible,
                deps = deps + hooks + ["//verify/simt/dialect"],
                # The objects call each other in no order that a linker could follow.
                alwayslink = True,
                **kwargs
            )
