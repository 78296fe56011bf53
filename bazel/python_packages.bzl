"""The repository @python_packages: the Python with the packages of python/requirements.txt.

Its interpreter.txt holds the path, and is empty if there is none; why_none.txt holds the reason.
bazelw determines both. (With --test_env a change would run all tests again.)
"""

def _python_packages_impl(ctx):
    environ = ctx.os.environ
    ctx.file("BUILD.bazel", 'exports_files(["interpreter.txt", "why_none.txt"])\n')
    ctx.file("interpreter.txt", environ.get("RECTO_PYTHON", ""))
    ctx.file("why_none.txt", environ.get(
        "RECTO_PYTHON_WHY_NONE",
        "RECTO_PYTHON is not set, and bazelw, which sets it, was not asked to",
    ))

python_packages_repository = repository_rule(
    implementation = _python_packages_impl,
    environ = ["RECTO_PYTHON", "RECTO_PYTHON_WHY_NONE"],
    local = True,
)
