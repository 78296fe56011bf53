"""The multiprocessor resources of kernels, according to ptxas: for the target card, and others.
"""

CARDS = ["80", "90", "100"]

# Options of every compilation by nvcc.
NVCC_OPTIONS = [
    "-std=c++20",
    "-O3",
    "-I.",
    "-Xptxas=-v",
    "-Werror=all-warnings",
    # Kernels call functions of std::optional and std::span.
    "--expt-relaxed-constexpr",
    # Objects go into shared libraries as well.
    "-Xcompiler=-Wall,-Wextra,-fPIC",
]

# $1 nvcc, $2 source, $3 log, $4 cubin; then options. Only the device code is compiled.
_LOG = """
nvcc=$1 source=$2 log=$3 cubin=$4
shift 4
"$nvcc" "$@" -cubin "$source" -o "$cubin" 2>"$log" || { cat "$log"; exit 1; }
"""

def _logs_impl(ctx):
    options = NVCC_OPTIONS + ["-I" + folder for folder in ctx.attr.includes] + [
        "-arch=sm_" + ctx.attr.arch,
        # Recompiles with another toolkit, which is not an input of the action.
        "-DRECTO_CUDA_TOOLKIT=" + ctx.attr.version,
    ]
    logs, cubins = [], []
    for source in ctx.files.srcs:
        stem = "{}/{}".format(ctx.label.name, source.basename[:-len(".cu")])
        log = ctx.actions.declare_file(stem + ".log")
        cubin = ctx.actions.declare_file(stem + ".cubin")
        ctx.actions.run_shell(
            inputs = [source] + ctx.files.hdrs,
            outputs = [log, cubin],
            command = _LOG,
            arguments = [ctx.attr.nvcc, source.path, log.path, cubin.path] + options,
            mnemonic = "NvccResources",
            progress_message = "Compiling {} for sm_{}".format(source.short_path, ctx.attr.arch),
            use_default_shell_env = True,
        )
        logs.append(log)
        cubins.append(cubin)
    return [
        DefaultInfo(files = depset(logs)),
        OutputGroupInfo(cubins = depset(cubins)),
    ]

_ptxas_logs = rule(
    implementation = _logs_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "includes": attr.string_list(),
        "arch": attr.string(mandatory = True),
        "nvcc": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
    },
)

def resource_reports(name, toolkit, srcs, hdrs, includes, cards, testonly, visibility):
    """Tables of ptxas_report.py: NAME_resources.txt of what NAME_logs says, and on demand
    NAME_resources_sm_80.txt, and so on, of `cards`; NAME_cubins_sm_80 has their machine code."""
    kept = {"testonly": testonly, "tags": ["manual"]}
    logs_of = {"_resources": name + "_logs"}
    for arch in cards:
        logs = "{}_logs_sm_{}".format(name, arch)
        logs_of["_resources_sm_" + arch] = logs
        _ptxas_logs(
            name = logs,
            srcs = srcs,
            hdrs = hdrs,
            includes = includes,
            arch = arch,
            nvcc = toolkit.nvcc,
            version = toolkit.version,
            visibility = ["//visibility:private"],
            **kept
        )
        native.filegroup(
            name = "{}_cubins_sm_{}".format(name, arch),
            srcs = [logs],
            output_group = "cubins",
            visibility = visibility,
            **kept
        )
    for suffix, logs in logs_of.items():
        native.genrule(
            name = name + suffix,
            srcs = [logs],
            outs = [name + suffix + ".txt"],
            cmd = "python3 $(location //bazel:ptxas_report.py) %s $(SRCS) > $@" % toolkit.version,
            tools = ["//bazel:ptxas_report.py"],
            visibility = visibility,
            **kept
        )

def outputs_for(library, what, arches, further):
    """A select() on the target card: its output `what` ("_resources" or "_cubins"), that of
    `arches`, and `further`."""
    own_arches = {"//bazel:sm_80": "80", "//bazel:sm_100": "100", "//conditions:default": "90"}
    return {
        card: [library + what] +
              [library + what + "_sm_" + arch for arch in arches if arch != own] +
              further
        for card, own in own_arches.items()
    }
