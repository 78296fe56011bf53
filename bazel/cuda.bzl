"""CUDA kernels, compiled by nvcc. Without a toolkit nothing is compiled, and tests are skipped.

The target is sm_90 by default, with PTX for later cards; --config=sm_80 and --config=sm_100 choose
others.
"""

load("@cuda//:toolkit.bzl", "TOOLKIT")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//bazel:cuda_resources.bzl", "CARDS", "NVCC_OPTIONS", "outputs_for", "resource_reports")
load("//bazel:defs.bzl", "PORTABLE", "recto_binary", "recto_test")
load("//bazel:program_test.bzl", "program_test")

# $1 nvcc, $2 a folder for intermediate files, $3 source, $4 object, $5 cubin, $6 log; then options.
# The output of ptxas goes to the log, and is printed if the compilation fails.
_COMPILE = """
nvcc=$1 kept=$2 source=$3 object=$4 cubin=$5 log=$6
shift 6
mkdir -p "$kept"
"$nvcc" "$@" --keep --keep-dir "$kept" -c "$source" -o "$object" 2>"$log" || { cat "$log"; exit 1; }
mv "$kept"/*.cubin "$cubin"
rm -r "$kept"
"""

def _objects_impl(ctx):
    arch = ctx.attr.arch
    options = NVCC_OPTIONS + ["-I" + folder for folder in ctx.attr.includes] + [
        "-gencode=arch=compute_{0},code=[sm_{0},compute_{0}]".format(arch),
        # Only makes Bazel recompile with another toolkit, which is not an input of the action.
        "-DRECTO_CUDA_TOOLKIT=" + ctx.attr.version,
    ]
    objects, cubins, logs = [], [], []
    for source in ctx.files.srcs:
        stem = "{}/{}".format(ctx.label.name, source.basename[:-len(".cu")])
        object = ctx.actions.declare_file(stem + ".o")
        cubin = ctx.actions.declare_file(stem + ".cubin")
        log = ctx.actions.declare_file(stem + ".ptxas.log")
        ctx.actions.run_shell(
            inputs = [source] + ctx.files.hdrs,
            outputs = [object, cubin, log],
            command = _COMPILE,
            arguments = [ctx.attr.nvcc, object.path + ".kept"] +
                        [file.path for file in [source, object, cubin, log]] + options,
            mnemonic = "Nvcc",
            progress_message = "Compiling {} for sm_{}".format(source.short_path, arch),
            use_default_shell_env = True,
        )
        objects.append(object)
        cubins.append(cubin)
        logs.append(log)
    return [
        DefaultInfo(files = depset(objects)),
        OutputGroupInfo(cubins = depset(cubins), logs = depset(logs)),
    ]

_cuda_objects = rule(
    implementation = _objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "includes": attr.string_list(),
        "arch": attr.string(mandatory = True),
        "nvcc": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
    },
)

def _compile(
        name,
        deps = [],
        visibility = None,
        testonly = False,
        alwayslink = False,
        arch = None,
        **kwargs):
    """A cc_library of .cu files, and NAME_objects, which has their cubins and logs, too."""
    _cuda_objects(
        name = name + "_objects",
        arch = arch or select({
            "//bazel:sm_80": "80",
            "//bazel:sm_100": "100",
            "//conditions:default": "90",
        }),
        nvcc = TOOLKIT.nvcc,
        version = TOOLKIT.version,
        testonly = testonly,
        visibility = ["//visibility:private"],
        **kwargs
    )
    cc_library(
        name = name,
        srcs = [name + "_objects"],
        testonly = testonly,
        visibility = visibility,
        alwayslink = alwayslink,
        deps = deps + ["@cuda//:cudart"],
    )

def cuda_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of .cu files without a resource report of its kernels.

    Args:
      srcs: .cu files.
      hdrs: all that they include of this repository.
      deps: C++ libraries that they call.
      **kwargs: as of cuda_kernels.
    """
    if TOOLKIT.nvcc:
        _compile(name = name, srcs = srcs, hdrs = hdrs, deps = deps, **kwargs)
    else:
        cc_library(
            name = name,
            testonly = kwargs.get("testonly", False),
            visibility = kwargs.get("visibility"),
        )

def cuda_kernels(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of compiled kernels and their launch functions.

    NAME_cubins has only the machine code for the card, one file per source, and NAME_resources.txt
    is a table of the multiprocessor resources that each kernel takes; NAME_cubins_sm_80 and
    NAME_resources_sm_80.txt, built on demand, are those of another card.

    Args:
      srcs: .cu files.
      hdrs: all that they include of this repository.
      deps: C++ libraries that its host code calls.
      **kwargs: `includes`, folders for <...>, from the root; `arch`, such as "90a", for code that
        only this card can run, whatever the target card; `testonly` and `visibility`.
    """
    testonly = kwargs.get("testonly", False)
    visibility = kwargs.get("visibility")
    if not TOOLKIT.nvcc:
        cc_library(name = name, testonly = testonly, visibility = visibility)
        return
    _compile(name = name, srcs = srcs, hdrs = hdrs, deps = deps, **kwargs)
    for group in ["cubins", "logs"]:
        native.filegroup(
            name = name + "_" + group,
            srcs = [name + "_objects"],
            output_group = group,
            testonly = testonly,
            visibility = visibility,
        )
    resource_reports(
        name = name,
        toolkit = TOOLKIT,
        srcs = srcs,
        hdrs = hdrs,
        includes = kwargs.get("includes", []),
        cards = [] if kwargs.get("arch") else CARDS,
        testonly = testonly,
        visibility = visibility,
    )

# The tests that --config=cuda selects; verify/kernels/gpu compares its list with them.
_ON_GPU = {"tags": ["cuda"], "visibility": ["//verify/kernels/gpu:__pkg__"]}

def _skipped_test(name, **kwargs):
    program_test(
        name = name,
        program = "//bazel:print_skipped.sh",
        args = ["'%s: no CUDA Toolkit: no nvcc in %s'" % (name, TOOLKIT.searched)],
        **kwargs
    )

def cuda_script_test(name, script, args = [], data = [], **kwargs):
    """A script as a test, like recto_script_test; skipped if there is no toolkit."""
    if TOOLKIT.nvcc:
        program_test(name = name, program = script, args = args, data = data, **kwargs)
    else:
        _skipped_test(name = name, **kwargs)

def resources_test(name, kernels, arches, golden, script, kernels_of_one_card = []):
    """Compares the multiprocessor resources of kernels with earlier reports.

    Args:
      kernels: a library of cuda_kernels.
      arches: cards to compare besides the target card.
      kernels_of_one_card: further libraries, with `arch`.
      golden: earlier reports.
      script: is called with reports, "--" and `golden`.
    """
    further = [library + "_resources" for library in kernels_of_one_card]
    reports = outputs_for(kernels, "_resources", arches, further)
    cuda_script_test(
        name = name,
        args = select({
            card: ["$(location %s)" % report for report in of_card]
            for card, of_card in reports.items()
        }) + ["--", "$(locations %s)" % golden],
        data = select(reports) + [golden],
        script = script,
    )

def speed_test(
        name,
        kernels,
        arches,
        files,
        golden,
        script,
        kernels_of_one_card = [],
        tools = [],
        **kwargs):
    """Compares figures of kernels' machine code with earlier ones, and with floors.

    Args:
      kernels, arches, kernels_of_one_card: as of resources_test.
      files: further inputs, a file each.
      golden: earlier figures.
      script: is called with the toolkit's folder, the interpreter that has Python's packages,
        `files`, cubins, "--" and `golden`.
      tools: what the script imports.
    """
    further = [library + "_cubins" for library in kernels_of_one_card]
    cubins = outputs_for(kernels, "_cubins", arches, further)
    interpreter = "@python_packages//:interpreter.txt"
    cuda_script_test(
        name = name,
        args = ["'%s'" % (TOOLKIT.root or "")] +
               ["$(location %s)" % file for file in [interpreter] + files] +
               select({
                   card: ["$(locations %s)" % group for group in of_card]
                   for card, of_card in cubins.items()
               }) + ["--", "$(locations %s)" % golden],
        data = select(cubins) + [interpreter, golden] + files + tools,
        script = script,
        # Tells bazelw that the packages are needed.
        tags = ["needs_packages"],
        **kwargs
    )

def gpu_script_test(name, **kwargs):
    """The same, for a script that runs programs on a GPU."""
    kwargs.update(_ON_GPU)
    cuda_script_test(name = name, **kwargs)

def cuda_binary(name, srcs, hdrs = [], includes = [], deps = [], testonly = False, **kwargs):
    """A program compiled by nvcc from .cu files and libraries, one of them with a main(); not
    defined if there is no toolkit."""
    if not TOOLKIT.nvcc:
        return
    main = name + "_main"
    _compile(
        name = main,
        srcs = srcs,
        hdrs = hdrs,
        includes = includes,
        testonly = testonly,
        # Its own objects are always linked, even if no library refers to them.
        alwayslink = True,
    )
    kwargs.update(PORTABLE)
    cc_binary(name = name, testonly = testonly, deps = [main] + deps, linkstatic = True, **kwargs)

def cuda_shared_library(name, srcs, hdrs = [], **kwargs):
    """A shared library compiled by nvcc, to be loaded at run time, whose name ends in .so; not
    defined if there is no toolkit."""
    if not TOOLKIT.nvcc:
        return
    parts = name + "_parts"
    _compile(name = parts, srcs = srcs, hdrs = hdrs, alwayslink = True)
    cc_binary(name = name, deps = [parts], linkshared = True, linkstatic = True, **kwargs)

def cuda_test(name, srcs, hdrs = [], includes = [], deps = [], **kwargs):
    """A program compiled by nvcc from .cu files with a main(), as a test; skipped without a
    toolkit.

    If there is no GPU, it must print a line that begins with "SKIPPED:".
    """
    if not TOOLKIT.nvcc:
        kwargs.update(_ON_GPU)
        _skipped_test(name = name, **kwargs)
        return
    main = name + "_main"
    _compile(name = main, srcs = srcs, hdrs = hdrs, includes = includes, testonly = True)
    kwargs.update(_ON_GPU)
    kwargs.update(PORTABLE)
    cc_test(name = name, deps = [main] + deps, linkstatic = True, **kwargs)

def gpu_binary(name, **kwargs):
    """A recto_binary linked with //verify/kernels/gpu; not defined if there is no toolkit."""
    if TOOLKIT.nvcc:
        kwargs.update(PORTABLE)
        recto_binary(name = name, **kwargs)

def gpu_test(name, deps, **kwargs):
    """A recto_test that is linked with //verify/kernels/gpu; skipped if there is no toolkit."""
    if TOOLKIT.nvcc:
        kwargs.update(_ON_GPU)
        kwargs.update(PORTABLE)
        recto_test(name = name, deps = deps + ["//verify/kernels/gpu:gate"], **kwargs)
    else:
        _skipped_test(name = name, **_ON_GPU)
