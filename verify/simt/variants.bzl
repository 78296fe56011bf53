"""Programs built again, by another compiler or with other flags, beside the usual build.

A configuration (--config=asan) builds everything in one way. These rules build single programs in
several ways for tests, most of them under --config=full: by clang, under AddressSanitizer, with
tainted memory.
"""

load("@compilers//:compilers.bzl", "CLANGXX", "GXX", "HAS_MSAN")
load("//bazel:program_test.bzl", "program_test")

# simt_kernels marks kernel sources with this tag: some variants compile them differently.
KERNEL_TAG = "simt_kernels"

# The build outputs of a target and all its dependencies in one mode. Each target is compiled once
# for all programs.
Objects = provider(fields = ["objects", "headers", "include_folders", "defines", "linkopts"])

def _build_of(mode):
    """(compiler, copts, kernel_copts, linkopts) of a mode, or the reason why it is missing."""
    if mode == "asan":
        flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        return (GXX, ["-O1"] + flags, [], flags) if GXX else "no g++ here"
    if mode == "boost":
        return (GXX, ["-O1", "-DRECTO_SIMT_BOOST_CONTEXT"], [], []) if GXX else "no g++ here"
    if not CLANGXX:
        return "no clang++ here"
    if mode == "clang":
        return (CLANGXX, ["-O2"], [], [])
    if mode == "taint":
        if not HAS_MSAN:
            return "clang++ has no MemorySanitizer here"

        # Shadow memory follows values through kernels only; the executor only passes them on.
        shadow = [
            "-fsanitize=memory",
            "-fno-sanitize-memory-param-retval",
            "-mllvm",
            "-msan-poison-stack=0",
            # Turns calls of sqrtf, fmaf and the like into instructions, which propagate taint.
            "-fno-math-errno",
        ]
        copts = ["-O1", "-DRECTO_SIMT_TAINT"]
        return (CLANGXX, copts, shadow, ["-fsanitize=memory"])
    return None

_MODES = ["asan", "boost", "clang", "taint"]

_BUILDS = {mode: _build_of(mode) for mode in _MODES}

def _files(attribute):
    return [file for target in attribute for file in target.files.to_list()]

# Macros, and what the machine has, mean the same in every mode.
_COMMON_FLAGS = ["-D", "-U", "-m"]

# Other kernel flags that mean the same in every mode.
_KERNEL_FLAGS = ["-fno-strict-aliasing"]

# No variant has ThreadSanitizer, even if the whole configuration does.
_NO_TSAN = "-URECTO_SIMT_TSAN"

def _defines(names):
    return ["-D" + name for name in names]

def _own_copts(attr, kernel_copts):
    is_kernel = KERNEL_TAG in getattr(attr, "tags", [])
    kept = _COMMON_FLAGS + (_KERNEL_FLAGS if is_kernel else [])
    return (kernel_copts if is_kernel else []) + _defines(getattr(attr, "local_defines", [])) + [
        opt
        for opt in getattr(attr, "copts", [])
        if any([opt.startswith(flag) for flag in kept])
    ]

def _include_folders(ctx):
    root = ctx.label.workspace_root + "/" if ctx.label.workspace_root else ""
    return [
        root + (ctx.label.package + "/" + folder).strip("/")
        for folder in getattr(ctx.rule.attr, "includes", [])
    ]

def _compile(ctx, source, copts, known):
    mode = ctx.attr.mode
    compiler, mode_copts, _, _ = _BUILDS[mode]
    output = ctx.actions.declare_file("{}_{}_objects/{}.o".format(
        ctx.label.name,
        mode,
        source.short_path.replace("/", "_"),
    ))
    arguments = ctx.actions.args()
    arguments.add_all(["-std=c++20", "-ffp-contract=off", "-g", "-Wno-unused-parameter"])
    arguments.add_all(known.defines)
    arguments.add_all(mode_copts + copts + [_NO_TSAN])
    for root in ["", ctx.bin_dir.path + "/"]:
        folders = [root + folder for folder in known.include_folders.to_list()]
        arguments.add_all(folders, before_each = "-isystem")
    arguments.add_all([".", ctx.bin_dir.path, ctx.genfiles_dir.path], before_each = "-iquote")
    arguments.add_all(["-c", source, "-o", output])
    ctx.actions.run(
        executable = compiler,
        arguments = [arguments],
        inputs = depset([source], transitive = [known.headers]),
        outputs = [output],
        mnemonic = "CompileVariant",
        progress_message = "Compiling %s, mode %s" % (source.short_path, mode),
        use_default_shell_env = True,
    )
    return output

def _compiled_impl(_target, ctx):
    attr = ctx.rule.attr
    deps = [dep[Objects] for dep in getattr(attr, "deps", []) if Objects in dep]
    files = _files(getattr(attr, "srcs", []))
    headers = [file for file in files if file.extension != "cc"]
    headers += _files(getattr(attr, "hdrs", [])) + _files(getattr(attr, "textual_hdrs", []))
    known = struct(
        headers = depset(headers, transitive = [dep.headers for dep in deps]),
        include_folders = depset(
            _include_folders(ctx),
            transitive = [dep.include_folders for dep in deps],
        ),
        defines = depset(
            _defines(getattr(attr, "defines", [])),
            transitive = [dep.defines for dep in deps],
        ),
    )
    copts = _own_copts(attr, _BUILDS[ctx.attr.mode][2])
    return [Objects(
        objects = depset(
            [_compile(ctx, file, copts, known) for file in files if file.extension == "cc"],
            transitive = [dep.objects for dep in deps],
        ),
        headers = known.headers,
        include_folders = known.include_folders,
        defines = known.defines,
        linkopts = depset(
            [opt for opt in getattr(attr, "linkopts", []) if "$" not in opt],
            transitive = [dep.linkopts for dep in deps],
        ),
    )]

compiled = aspect(
    implementation = _compiled_impl,
    attr_aspects = ["deps"],
    attrs = {"mode": attr.string(values = _MODES)},
)

def _variant_impl(ctx):
    compiler, _, _, linkopts = _BUILDS[ctx.attr.mode]
    sources = ctx.attr.program[Objects]
    program = ctx.actions.declare_file(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all(linkopts)
    arguments.add_all(sources.objects)
    arguments.add_all(sources.linkopts)
    arguments.add_all(["-o", program])
    ctx.actions.run(
        executable = compiler,
        arguments = [arguments],
        inputs = sources.objects,
        outputs = [program],
        mnemonic = "LinkVariant",
        use_default_shell_env = True,
    )
    return [DefaultInfo(executable = program, files = depset([program]))]

_variant = rule(
    implementation = _variant_impl,
    executable = True,
    attrs = {
        "program": attr.label(aspects = [compiled], mandatory = True),
        "mode": attr.string(values = _MODES, mandatory = True),
    },
)

def simt_variant(name, program, mode, **kwargs):
    """A cc_binary as built in another mode: "asan", "boost", "clang" or "taint".

    "boost" has Boost.Context's switch of fibers, as machines other than x86-64 and "asan" have.

    Without the compiler, the target is a script that says so, after "SKIPPED:".
    """
    if mode not in _MODES:
        fail(("simt_variant: expected mode %s, got \"%s\"; plain is the usual build, and races a " +
              "program that depends on NAME_observed") % (" or ".join(_MODES), mode))
    build = _BUILDS[mode]
    if type(build) == "string":
        native.genrule(
            name = name,
            outs = [name + ".sh"],
            cmd = "printf '#!/bin/sh\\necho \"SKIPPED: %s\"\\n' > $@" % build,
            executable = True,
            **kwargs
        )
        return
    _variant(name = name, mode = mode, program = program, **kwargs)

def simt_variant_test(name, program, mode, size = "medium", tags = [], **kwargs):
    """A test that such a program exits with 0."""
    simt_variant(
        name = name + "_program",
        program = program,
        mode = mode,
        tags = tags,
        testonly = True,
    )
    program_test(name = name, program = name + "_program", size = size, tags = tags, **kwargs)
