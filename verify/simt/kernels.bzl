"""Kernels for the executor: CUDA sources, compiled by the host compiler, as they are."""

load("//bazel:defs.bzl", "recto_library")
load("//verify/simt:variants.bzl", "KERNEL_TAG")

# Every access to memory becomes a call of a hook, which verify/simt/checks defines.
OBSERVED_COPTS = [
    "-fsanitize=thread",
    "--param=tsan-instrument-func-entry-exit=0",
    "-g",
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

def simt_kernels(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of kernels, and NAME_observed, the same with observed accesses.

    Args:
      srcs: .cu files, of this package or as //package:file.cu.
      hdrs: .cuh files that they include.
    """
    units = [_unit(name, source) for source in srcs]

    # Line numbers, for findings.
    for suffix, copts in [("", ["-g1"]), ("_observed", OBSERVED_COPTS)]:
        recto_library(
            name = name + suffix,
            srcs = units,
            textual_hdrs = srcs + hdrs,
            copts = copts + ["-Wno-unused-parameter"],
            tags = [KERNEL_TAG],
            deps = deps + ["//verify/simt/dialect"],
            **kwargs
        )
