"""Programs built once more, by another compiler or with other flags, beside the usual build.

A configuration (--config=asan) builds everything in one way. These are single programs that the
default test run has in several: the executor under AddressSanitizer, by clang, with tainted memory.
"""

load("@compilers//:compilers.bzl", "CLANGXX", "GXX", "HAS_MSAN")
load("//bazel:program_test.bzl", "program_test")

# Kernel sources are marked so, by simt_kernels: some variants compile them differently.
KERNEL_TAG = "simt_kernels"

_Sources = provider(fields = ["kernels", "others", "headers", "include_folders", "linkopts"])

def _files(attribute):
    return [file for target in attribute for file in target.files.to_list()]

# Of the flags that kernels are built with, what they mean by themselves in any mode.
_KERNEL_FLAGS = ["-D", "-U", "-fno-strict-aliasing"]

def _kernel(source, attr):
    flags = [opt for opt in attr.copts if any([opt.startswith(flag) for flag in _KERNEL_FLAGS])]
    return struct(source = source, copts = tuple(flags))

def _collect_impl(_target, ctx):
    attr = ctx.rule.attr
    deps = [dep[_Sources] for dep in getattr(attr, "deps", []) if _Sources in dep]
    files = _files(getattr(attr, "srcs", []))
    sources = [file for file in files if file.extension == "cc"]
    headers = [file for file in files if file.extension != "cc"]
    headers += _files(getattr(attr, "hdrs", [])) + _files(getattr(attr, "textual_hdrs", []))
    is_kernels = KERNEL_TAG in getattr(attr, "tags", [])
    folders = []
    for folder in getattr(attr, "includes", []):
        root = ctx.label.workspace_root + "/" if ctx.label.workspace_root else ""
        folders.append(root + (ctx.label.package + "/" + folder).strip("/"))
    return [_Sources(
        kernels = depset(
            [_kernel(source, attr) for source in sources] if is_kernels else [],
            transitive = [dep.kernels for dep in deps],
        ),
        others = depset([] if is_kernels else sources, transitive = [dep.others for dep in deps]),
        headers = depset(headers, transitive = [dep.headers for dep in deps]),
        include_folders = depset(folders, transitive = [dep.include_folders for dep in deps]),
        linkopts = depset(
            [opt for opt in getattr(attr, "linkopts", []) if "$" not in opt],
            transitive = [dep.linkopts for dep in deps],
        ),
    )]

_collect = aspect(implementation = _collect_impl, attr_aspects = ["deps"])

def _compile(ctx, source, copts, sources):
    output = ctx.actions.declare_file("{}_objects/{}.o".format(
        ctx.label.name,
        source.short_path.replace("/", "_"),
    ))
    folders = sources.include_folders.to_list()
    arguments = ctx.actions.args()
    arguments.add_all(["-std=c++20", "-ffp-contract=off", "-g", "-Wno-unused-parameter"])
    arguments.add_all(ctx.attr.copts + copts)
    for root in ["", ctx.bin_dir.path + "/"]:
        arguments.add_all([root + folder for folder in folders], before_each = "-isystem")
    arguments.add_all([".", ctx.bin_dir.path, ctx.genfiles_dir.path], before_each = "-iquote")
    arguments.add_all(["-c", source, "-o", output])
    ctx.actions.run(
        executable = ctx.attr.compiler,
        arguments = [arguments],
        inputs = depset([source], transitive = [sources.headers]),
        outputs = [output],
        mnemonic = "CompileVariant",
        progress_message = "Compiling %s for %s" % (source.short_path, ctx.label),
        use_default_shell_env = True,
    )
    return output

def _variant_impl(ctx):
    sources = ctx.attr.program[_Sources]
    objects = [_compile(ctx, source, [], sources) for source in sources.others.to_list()]
    objects += [
        _compile(ctx, kernel.source, ctx.attr.kernel_copts + list(kernel.copts), sources)
        for kernel in sources.kernels.to_list()
    ]
    program = ctx.actions.declare_file(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all(ctx.attr.linkopts)
    arguments.add_all(objects)
    arguments.add_all(sources.linkopts)
    arguments.add_all(["-o", program])
    ctx.actions.run(
        executable = ctx.attr.compiler,
        arguments = [arguments],
        inputs = objects,
        outputs = [program],
        mnemonic = "LinkVariant",
        use_default_shell_env = True,
    )
    return [DefaultInfo(executable = program, files = depset([program]))]

_variant = rule(
    implementation = _variant_impl,
    executable = True,
    attrs = {
        "program": attr.label(aspects = [_collect], mandatory = True),
        "compiler": attr.string(mandatory = True),
        "copts": attr.string_list(),
        "kernel_copts": attr.string_list(),
        "linkopts": attr.string_list(),
    },
)

def _build_of(mode):
    """(compiler, copts, kernel_copts, linkopts) of a mode, or why there is none."""
    if mode == "asan":
        flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        return (GXX, ["-O1"] + flags, [], flags) if GXX else "no g++ here"
    if not CLANGXX:
        return "no clang++ here"
    if mode == "boost":
        return (GXX, ["-O1", "-DRECTO_SIMT_BOOST_CONTEXT"], [], []) if GXX else "no g++ here"
    if mode == "clang":
        return (CLANGXX, ["-O2"], [], [])
    if mode == "taint":
        if not HAS_MSAN:
            return "clang++ has no MemorySanitizer here"

        # Shadow memory follows values through kernels alone; the executor only hands them on.
        shadow = [
            "-fsanitize=memory",
            "-fno-sanitize-memory-param-retval",
            "-mllvm",
            "-msan-poison-stack=0",
            # Calls of sqrtf, fmaf and their kin become instructions, which hand it on.
            "-fno-math-errno",
        ]
        copts = ["-O1", "-DRECTO_SIMT_TAINT"]
        return (CLANGXX, copts, shadow, ["-fsanitize=memory"])
    fail(("simt_variant: expected mode asan, clang or taint, got \"%s\"; plain is the usual " +
          "build, and races a program that depends on NAME_observed of simt_kernels") % mode)

def simt_variant(name, program, mode, **kwargs):
    """A cc_binary as built in another mode: "asan", "boost", "clang" or "taint".

    "boost" has Boost.Context's switch of fibers, as machines other than x86-64 have.

    Where the compiler is missing it is a script that says so, after "SKIPPED:".
    """
    build = _build_of(mode)
    if type(build) == "string":
        native.genrule(
            name = name,
            outs = [name + ".sh"],
            cmd = "printf '#!/bin/sh\\necho \"SKIPPED: %s\"\\n' > $@" % build,
            executable = True,
            **kwargs
        )
        return
    compiler, copts, kernel_copts, linkopts = build
    _variant(
        name = name,
        compiler = compiler,
        copts = copts,
        kernel_copts = kernel_copts,
        linkopts = linkopts,
        program = program,
        **kwargs
    )

def simt_variant_test(name, program, mode, size = "medium", **kwargs):
    """A test that such a program ends with 0."""
    simt_variant(name = name + "_program", program = program, mode = mode, testonly = True)
    program_test(name = name, program = name + "_program", size = size, **kwargs)
