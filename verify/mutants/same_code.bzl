"""A rule that compiles mutants which nothing kills, and tells which are the original's code."""

load("@compilers//:compilers.bzl", "GXX")

def _same_code_impl(ctx):
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    copies = [file for file in ctx.files.copies if "/verify/mutants/copies/" in file.path]
    names = [ctx.file.equivalent, ctx.file.open]
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    arguments = ctx.actions.args()
    arguments.add(ctx.file._script)
    arguments.add("--compiler", GXX)
    arguments.add("--list", ctx.file.list)
    arguments.add_all("--names", names)
    arguments.add("--copies", ctx.bin_dir.path + "/verify/mutants/copies")
    arguments.add("--out", out)
    arguments.add("--")
    for context in contexts:
        arguments.add_all(context.quote_includes, before_each = "-iquote", uniquify = True)
        arguments.add_all(context.system_includes, before_each = "-isystem", uniquify = True)
        arguments.add_all(context.includes, before_each = "-isystem", uniquify = True)
    ctx.actions.run(
        outputs = [out],
        inputs = depset(
            copies + names + ctx.files.headers + [ctx.file.list, ctx.file._script],
            transitive = [context.headers for context in contexts],
        ),
        executable = "python3",
        arguments = ["-B", arguments],
        mnemonic = "SameCode",
        progress_message = "Comparing the machine code of mutants, %s" % ctx.label,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

same_code = rule(
    implementation = _same_code_impl,
    doc = "NAME.txt, of same_code.py.",
    attrs = {
        "copies": attr.label(mandatory = True, doc = "of copies.py"),
        "deps": attr.label_list(providers = [CcInfo], doc = "of what is compiled"),
        "equivalent": attr.label(allow_single_file = True, default = "//verify/mutants:equivalent"),
        "headers": attr.label_list(allow_files = True, doc = "beside those of deps"),
        "list": attr.label(allow_single_file = True, mandatory = True, doc = "of mutants"),
        "open": attr.label(allow_single_file = True, default = "//verify/mutants:open"),
        "_script": attr.label(allow_single_file = True, default = "//verify/mutants:same_code.py"),
    },
)
