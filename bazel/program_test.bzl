"""A test that runs a program: a binary, or a script that names its interpreter.

(The rules for shell and Python tests left Bazel in version 8; this needs none of them.)
"""

def _program_test_impl(ctx):
    runner = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = runner, target_file = ctx.file.program, is_executable = True)
    runfiles = ctx.runfiles(files = [ctx.file.program] + ctx.files.data)
    for target in [ctx.attr.program] + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = runner, runfiles = runfiles)]

program_test = rule(
    implementation = _program_test_impl,
    test = True,
    attrs = {
        "program": attr.label(allow_single_file = True, mandatory = True),
        "data": attr.label_list(allow_files = True),
    },
)
