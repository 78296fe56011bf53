"""CUDA kernels as PTX, which needs no card."""

load("@cuda//:toolkit.bzl", "TOOLKIT")
load("//bazel:cuda_resources.bzl", "NVCC_OPTIONS")

# $1 nvcc, $2 source, $3 PTX; then options.
_PTX = """
nvcc=$1 source=$2 ptx=$3
shift 3
"$nvcc" -ptx -lineinfo "$@" "$source" -o "$ptx"
"""

def _ptx_impl(ctx):
    made = []
    for source in ctx.files.srcs:
        stem = "{}/{}".format(ctx.label.name, source.basename[:-len(".cu")])
        ptx = ctx.actions.declare_file(stem + ".ptx")
        ctx.actions.run_shell(
            inputs = [source] + ctx.files.hdrs,
            outputs = [ptx],
            command = _PTX,
            arguments = [ctx.attr.nvcc, source.path, ptx.path, "-arch=sm_" + ctx.attr.arch] +
                        NVCC_OPTIONS + ["-I" + folder for folder in ctx.attr.includes],
            mnemonic = "NvccPtx",
            progress_message = "Compiling {} to PTX".format(source.short_path),
            use_default_shell_env = True,
        )
        made.append(ptx)
    return [DefaultInfo(files = depset(made), runfiles = ctx.runfiles(made))]

_ptx = rule(
    implementation = _ptx_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "includes": attr.string_list(),
        "arch": attr.string(mandatory = True),
        "nvcc": attr.string(mandatory = True),
    },
)

def cuda_ptx(name, srcs, arch, hdrs = [], includes = [], **kwargs):
    """The PTX of .cu files, in the folder NAME; nothing if there is no toolkit.

    Args:
      srcs: .cu files.
      arch: the card's compute capability, as "80".
      hdrs: all that they include of this repository.
      includes: folders for <...>, from the root.
      **kwargs: `testonly` and `visibility`.
    """
    if TOOLKIT.nvcc:
        _ptx(
            name = name,
            srcs = srcs,
            hdrs = hdrs,
            includes = includes,
            arch = arch,
            nvcc = TOOLKIT.nvcc,
            **kwargs
        )
    else:
        native.filegroup(name = name, srcs = [], **kwargs)
