"""A test that runs a binary as it is, with the arguments given as `args`."""

def _smoke_test_impl(ctx):
    runner = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = runner, target_file = ctx.executable.binary, is_executable = True)
    return [DefaultInfo(
        executable = runner,
        runfiles = ctx.attr.binary[DefaultInfo].default_runfiles,
    )]

smoke_test = rule(
    implementation = _smoke_test_impl,
    test = True,
    attrs = {"binary": attr.label(executable = True, cfg = "target", mandatory = True)},
)
