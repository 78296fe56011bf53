"""The kit: one folder with everything needed to compile and link a user's CUDA source or PTX, but
nvcc."""

load("@compilers//:compilers.bzl", "GXX")
load("@cuda//:toolkit.bzl", "TOOLKIT")

HAS_KIT = bool(GXX)
HAS_CUDA_SOURCES = bool(GXX and TOOLKIT.nvcc)

# $1: the kit; $2: its files, as lines "FILE PLACE"; $3: the archive; then object files.
_COLLECT = """
set -e
kit=$1 files=$2
shift 2
while read -r file place; do
  mkdir -p "$kit/$(dirname "$place")"
  cp -L "$file" "$kit/$place"
done <"$files"
ar qcsD "$kit/libexecutor.a" "$@"
"""

def _kit_impl(ctx):
    compiled = ctx.attr.adapter[CcInfo].compilation_context
    inputs = ctx.attr.adapter[CcInfo].linking_context.linker_inputs.to_list()
    objects = [
        file
        for linked in inputs
        for library in linked.libraries
        for file in library.objects
    ]
    kit = ctx.actions.declare_directory(ctx.label.name)
    flags = ctx.actions.declare_file(ctx.label.name + "_flags.json")
    folders = compiled.includes.to_list() + compiled.system_includes.to_list()
    ctx.actions.write(flags, struct(
        compiler = GXX,
        copts = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w"] +
                ctx.fragments.cpp.copts + ["-D" + name for name in compiled.defines.to_list()],
        # This workspace's, below include/.
        include_folders = [
            folder
            for folder in folders
            if not folder.startswith(("external/", "bazel-out/")) and folder != "."
        ],
        linkopts = ctx.fragments.cpp.linkopts + [
            opt
            for linked in inputs
            for opt in linked.user_link_flags
            if "$" not in opt
        ],
    ).to_json())
    placed = [(flags, "flags.json")] + [(file, file.basename) for file in ctx.files.scripts]
    for header in compiled.headers.to_list():
        if not header.short_path.startswith(("../", "bazel/precompiled/")):
            placed.append((header, "include/" + header.short_path))
    files = ctx.actions.declare_file(ctx.label.name + "_files.txt")
    ctx.actions.write(files, "".join(["%s %s\n" % (file.path, place) for file, place in placed]))
    ctx.actions.run_shell(
        inputs = [files] + [file for file, _ in placed] + objects,
        outputs = [kit],
        command = _COLLECT,
        arguments = [kit.path, files.path] + [object.path for object in objects],
        mnemonic = "CollectKit",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([kit]), runfiles = ctx.runfiles([kit]))]

_kit = rule(
    implementation = _kit_impl,
    attrs = {
        "adapter": attr.label(mandatory = True, providers = [CcInfo]),
        "scripts": attr.label_list(allow_files = [".py"]),
    },
    fragments = ["cpp"],
)

def cuda_kit(name, **kwargs):
    """A folder: headers, an archive, flags, and the script that uses them.

    Without g++, `name` is an empty filegroup.
    """
    if HAS_KIT:
        _kit(name = name, **kwargs)
    else:
        native.filegroup(name = name, visibility = kwargs.get("visibility"))

def cuda_source_library(
        name,
        adapter,
        srcs = [],
        hdrs = [],
        macros = [],
        options = [],
        **kwargs):
    """A kernel library of CUDA sources, built with the kit, as by `recto verify --cuda`.

    Defines nothing if there is no kit or no nvcc.

    Args:
      name: ends in .so.
      adapter: a .cc file.
      srcs: .cu files; none if the adapter includes them all.
      hdrs: headers that both include.
      macros: NAME=VALUE.
      options: others of build_cuda_library.py.
    """
    if not HAS_CUDA_SOURCES:
        return
    native.genrule(
        name = name + "_library",
        # Not in `tools`: the whole kit would be compiled once more for the host.
        srcs = [adapter, "//verify/library/cuda_source:cuda_kit"] + srcs + hdrs,
        outs = [name],
        cmd = " ".join(
            ["RECTO_NVCC=%s python3" % TOOLKIT.nvcc] +
            ["$(location //verify/library/cuda_source:cuda_kit)/build_cuda_library.py"] +
            ["$(location %s)" % source for source in srcs] +
            ["--adapter $(location %s) -o $@" % adapter] +
            ["-D" + macro for macro in macros] + options,
        ),
        **kwargs
    )

# Headers of PyTorch, and their replacements here.
_FORWARDED = {
    "ATen/ATen.h": "framework_tensors.h",
    "ATen/cuda/CUDAContext.h": "framework_streams.h",
    "ATen/cuda/CUDAGeneratorImpl.h": "framework_random.h",
    "ATen/cuda/detail/UnpackRaw.cuh": "framework_random.h",
    "c10/cuda/CUDAException.h": "framework_streams.h",
    "c10/cuda/CUDAGuard.h": "framework_streams.h",
    "c10/cuda/CUDAStream.h": "framework_streams.h",
    "torch/all.h": "framework_tensors.h",
    "torch/extension.h": "framework_tensors.h",
    "torch/torch.h": "framework_tensors.h",
    "torch/types.h": "framework_tensors.h",
}

def forwarding_headers(name, folder):
    """A filegroup of headers with a framework's names, below `folder`."""
    for header, target in _FORWARDED.items():
        native.genrule(
            name = header.replace("/", "_"),
            outs = ["%s/%s" % (folder, header)],
            cmd = "printf '#pragma once\\n#include \"%s\"\\n' > $@" %
                  ("verify/library/cuda_source/" + target),
        )
    native.filegroup(name = name, srcs = ["%s/%s" % (folder, header) for header in _FORWARDED])
