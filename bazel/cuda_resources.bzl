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

# $1 nvcc, $2 source, $3 log; then options. Only the device code is compiled, and not kept.
_LOG = """
nvcc=$1 source=$2 log=$3
shift 3
"$nvcc" "$@" -cubin "$source" -o "$log.cubin" 2>"$log" || { cat "$log"; exit 1; }
rm "$log.cubin"
"""

def _logs_impl(ctx):
    options = NVCC_OPTIONS + ["-I" + folder for folder in ctx.attr.includes] + [
        "-arch=sm_" + ctx.attr.arch,
        # Recompiles with another toolkit, which is not an input of the action.
        "-DRECTO_CUDA_TOOLKIT=" + ctx.attr.version,
    ]
    logs = []
    for source in ctx.files.srcs:
        stem = source.basename[:-len(".cu")]
        log = ctx.actions.declare_file("{}/{}.log".format(ctx.label.name, stem))
        ctx.actions.run_shell(
            inputs = [source] + ctx.files.hdrs,
            outputs = [log],
            command = _LOG,
            arguments = [ctx.attr.nvcc, source.path, log.path] + options,
            mnemonic = "NvccResources",
            progress_message = "Compiling {} for sm_{}".format(source.short_path, ctx.attr.arch),
            use_default_shell_env = True,
        )
        logs.append(log)
    return [DefaultInfo(files = depset(logs))]

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
    NAME_resources_sm_80.txt, and so on, of `cards`."""
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

def reports_for(library, arches, further):
    """A select() on the target card: reports on it, on `arches`, and those of `further`."""
    own_arches = {"//bazel:sm_80": "80", "//bazel:sm_100": "100", "//conditions:default": "90"}
    return {
        card: [library + "_resources"] +
              [library + "_resources_sm_" + arch for arch in arches if arch != own] +
              further
        for card, own in own_arches.items()
    }
