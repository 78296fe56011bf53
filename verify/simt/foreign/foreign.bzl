"""CUDA sources that were not written for the executor, as libraries for it."""

load("@cuda//:toolkit.bzl", "TOOLKIT")
load("//bazel:defs.bzl", "recto_binary", "recto_library", "recto_script_test", "recto_test")
load("//bazel:program_test.bzl", "program_test")
load("//verify/simt:kernels.bzl", "KERNEL_BUILDS")
load("//verify/simt:variants.bzl", "KERNEL_TAG", "simt_variant")

def _translated(name, source):
    path = source
    if ":" in source or source.startswith("//"):
        package, _, file = source.partition(":")
        folder = package[2:] if package else native.package_name()
        path = folder + "/" + (file or package.split("/")[-1])
    target = path.replace(".cu", ".cc") if path.endswith(".cu") else path
    output = "%s_translated/%s" % (name, target)
    native.genrule(
        name = output.replace("/", "_") + "_file",
        srcs = [source],
        outs = [output],
        cmd = "python3 $(location //verify/simt/foreign:translate.py) $(SRCS) -o $@",
        tools = [
            "//verify/simt/foreign:cuda_shared.py",
            "//verify/simt/foreign:cuda_text.py",
            "//verify/simt/foreign:translate.py",
        ],
    )
    return output

def foreign_kernels(name, srcs, hdrs = [], deps = [], copts = [], **kwargs):
    """A library of kernels, and NAME_observed, the same with observed accesses.

    Without a CUDA Toolkit the targets do not exist.

    Args:
      srcs: .cu files.
      hdrs: the included headers that contain kernels. Files of this package (file.cuh) are
        included by their path in it; labels (//package:file.cuh) are included by their path in
        the workspace.
      deps: stubs of frameworks, without kernels.
    """
    if not TOOLKIT.nvcc:
        return
    sources = [_translated(name, source) for source in srcs]
    headers = [_translated(name, header) for header in hdrs]
    for suffix, built, hooks, compatible in KERNEL_BUILDS:
        recto_library(
            name = name + suffix,
            srcs = sources,
            textual_hdrs = headers,
            # Warnings in foreign code are left to its authors.
            copts = built + ["-w"] + copts,
            includes = [name + "_translated"],
            tags = [KERNEL_TAG],
            target_compatible_with = compatible,
            deps = deps + hooks + ["//verify/simt/foreign"],
            **kwargs
        )

def foreign_library(name, **kwargs):
    """A recto_library that needs the toolkit's headers; absent without a CUDA Toolkit."""
    if TOOLKIT.nvcc:
        recto_library(name = name, **kwargs)

def _skipped_test(name):
    program_test(
        name = name,
        program = "//bazel:print_skipped.sh",
        args = ["'%s: no CUDA Toolkit: no nvcc in %s'" % (name, TOOLKIT.searched)],
    )

def foreign_test(name, **kwargs):
    """A recto_test; skipped without a CUDA Toolkit."""
    if TOOLKIT.nvcc:
        recto_test(name = name, **kwargs)
    else:
        _skipped_test(name)

def foreign_cover_test(name, srcs, deps, modes, script, tags, args = [], size = "small"):
    """A test that a program prints the same in the usual build and in each of the modes.

    Args:
      modes: of simt_variant.
      script: takes MODE=PROGRAM for the usual build, "plain", and for each mode.
      tags: of the test and its programs.
      args: arguments of the script before them.
    """
    if not TOOLKIT.nvcc:
        _skipped_test(name)
        return
    programs = {"plain": name + "_plain"}
    recto_binary(name = programs["plain"], srcs = srcs, deps = deps, tags = tags, testonly = True)
    for mode in modes:
        programs[mode] = "%s_%s" % (name, mode)
        simt_variant(
            name = programs[mode],
            mode = mode,
            program = programs["plain"],
            tags = tags,
            testonly = True,
        )
    recto_script_test(
        name = name,
        size = size,
        args = args + ["%s=$(location :%s)" % pair for pair in programs.items()],
        data = [":" + program for program in programs.values()],
        script = script,
        tags = tags,
    )
