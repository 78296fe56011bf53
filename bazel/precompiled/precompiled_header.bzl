"""A header that the compiler parses once for all files that include it first."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def _precompiled_impl(ctx):
    toolchain = ctx.attr._toolchain[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context

    # A copy beside the precompiled header, for compilers and flags that cannot use that one.
    header = ctx.actions.declare_file(ctx.file.header.basename)
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    if toolchain.compiler == "clang":
        return [DefaultInfo(files = depset([header]))]
    action = "c++-compile"
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
    )
    output = ctx.actions.declare_file(ctx.file.header.basename + ".gch")
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = action,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ) + ["-x", "c++-header", ctx.file.header.path, "-o", output.path],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        inputs = depset([ctx.file.header], transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    return [DefaultInfo(files = depset([header, output]))]

_precompiled = rule(
    implementation = _precompiled_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def precompiled_header(name, copts, deps = [], **kwargs):
    """A library of NAME.h, compiled with the flags of its dependents and `copts`.

    Dependents pass `-include $(BINDIR)/PACKAGE/NAME.h`.
    """
    _precompiled(
        name = name + "_header",
        copts = copts,
        deps = deps,
        header = name + ".h",
        **kwargs
    )
    cc_library(
        name = name,
        textual_hdrs = [name + "_header"],
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )
