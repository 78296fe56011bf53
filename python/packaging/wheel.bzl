"""The wheel of the package recto, in a folder: its name says on which machines it runs."""

def _wheel_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add(ctx.file.pyproject)
    arguments.add(ctx.file.readme)
    arguments.add_all(ctx.files.programs)
    arguments.add("--")
    arguments.add_all(ctx.files.package)
    ctx.actions.run(
        outputs = [folder],
        inputs = [ctx.file.maker, ctx.file.pyproject, ctx.file.readme] +
                 ctx.files.programs + ctx.files.package,
        executable = ctx.file.maker,
        arguments = [arguments],
        mnemonic = "Wheel",
        progress_message = "Making the wheel",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

wheel = rule(
    implementation = _wheel_impl,
    attrs = {
        "maker": attr.label(
            default = "//python/packaging:make_wheel.py",
            allow_single_file = True,
        ),
        "package": attr.label_list(allow_files = True),
        "programs": attr.label_list(allow_files = True),
        "pyproject": attr.label(allow_single_file = True),
        "readme": attr.label(allow_single_file = True),
    },
)
