"""Kernels for the executor: CUDA sources, compiled by the host compiler, as they are."""

load("//bazel:defs.bzl", "recto_library")
load("//verify/simt:variants.bzl", "KERNEL_TAG")

# Every access to memory becomes a call of a hook, which verify/simt/checks defines.
OBSERVED_COPTS = [
    # The two exclude each other: under --config=asan all but the kernels has AddressSanitizer.
    "-fno-sanitize=address",
    "-fsanitize=thread",
    # Of NVIDIA's pairs of halves, which are copied half by half, too.
    "-fsanitize=alignment",
    # So that copies are calls, too, and loads of vectors stay in one piece.
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-fno-tree-sra",
    "-U_FORTIFY_SOURCE",
    # Fences are calls, too.
    "-Wno-tsan",
]

KERNEL_COPTS = [
    # Line numbers, for findings; addr2line of binutils 2.40 takes one file for another in
    # version 5.
    "-g1",
    "-gdwarf-4",
    # Optimised builds of Bazel define it; nvcc does not, and keeps assert().
    "-UNDEBUG",
]

# With ThreadSanitizer's own runtime the hooks are taken; clang's fuzzer does not know all flags.
OBSERVED_COMPATIBLE = select({
    "//bazel:libfuzzer": ["//bazel:unsupported"],
    "//bazel:tsan": ["//bazel:unsupported"],
    "//conditions:default": [],
})

_TOLERANT_COPTS = [
    # "#pragma unroll" is for nvcc.
    "-Wno-unknown-pragmas",
    # As people write kernels: "threadIdx.x < n" builds, what nobody uses is a warning.
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
    "-Wno-error=unused-but-set-variable",
    "-Wno-error=unused-function",
    "-Wno-error=unused-variable",
    # Kernels look at the same bytes through several types, as nvcc lets them.
    "-fno-strict-aliasing",
]

def _unit(name, source):
    """A C++ file that includes a CUDA file, whose name Bazel 4 would not compile."""
    label = source if ":" in source else "//" + native.package_name() + ":" + source
    path = label[2:].replace(":", "/")
    unit = "%s_%s.cc" % (name, path.split("/")[-1].replace(".", "_"))
    native.genrule(
        name = unit + "_unit",
        outs = [unit],
        cmd = "echo '#include \"%s\"' > $@" % path,
    )
    return unit

_SUFFIXES = ["", "_observed"]

def simt_kernels(name, srcs, hdrs = [], deps = [], copts = [], suffixes = _SUFFIXES, **kwargs):
    """A library of kernels, and NAME_observed, the same with observed accesses.

    Args:
      srcs: .cu files, of this package or as //package:file.cu.
      hdrs: .cuh files that they include.
      copts: more flags of the host compiler, after all others, such as "-O0": the optimiser takes
        out reads of which nothing is used.
      suffixes: of those two, which there are to be: what is big is built once.
    """
    units = {_unit(name, source): source for source in srcs}
    for suffix, observed, hooks, compatible in [
        ("", [], [], []),
        ("_observed", OBSERVED_COPTS, ["//verify/simt/checks:access_hooks"], OBSERVED_COMPATIBLE),
    ]:
        if suffix not in suffixes:
            continue

        # One library for each file: that another one changes leaves its objects alone.
        for unit, source in units.items():
            recto_library(
                name = unit[:-len(".cc")] + suffix,
                srcs = [unit],
                textual_hdrs = [source] + hdrs,
                copts = observed + KERNEL_COPTS + _TOLERANT_COPTS + copts,
                local_defines = ["RECTO_SIMT_KERNEL_FILE"],
                tags = [KERNEL_TAG],
                target_compatible_with = compatible,
                deps = deps + hooks + ["//verify/simt/dialect"],
                # They call each other, in no order that a linker could follow.
                alwayslink = True,
                testonly = kwargs.get("testonly", False),
            )
        recto_library(
            name = name + suffix,
            target_compatible_with = compatible,
            deps = [unit[:-len(".cc")] + suffix for unit in units],
            **kwargs
        )
