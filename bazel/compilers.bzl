"""The repository @compilers: compilers other than the one that Bazel builds with.

compilers.bzl in it has GXX and CLANGXX, the paths of g++ and clang++, and HAS_MSAN, whether that
clang++ has MemorySanitizer's runtime. A path is empty if there is no such compiler.
"""

_PROBE = "int main() { return 0; }\n"

def _can_build(ctx, compiler, flags):
    """Whether the compiler makes a program with these flags."""
    ctx.file("probe.cc", _PROBE)
    result = ctx.execute([compiler, "-std=c++20"] + flags + ["probe.cc", "-o", "probe"])
    return result.return_code == 0

def _find(ctx, names):
    for name in names:
        path = ctx.which(name)
        if path and _can_build(ctx, path, []):
            return str(path)
    return ""

def _compilers_impl(ctx):
    gxx = _find(ctx, ["g++", "g++-12", "g++-13", "g++-14"])
    clangxx = _find(ctx, ["clang++", "clang++-19", "clang++-17", "clang++-16", "clang++-14"])
    has_msan = clangxx != "" and _can_build(ctx, clangxx, ["-fsanitize=memory"])
    ctx.file("BUILD.bazel", "")
    ctx.file("compilers.bzl", "GXX = {}\nCLANGXX = {}\nHAS_MSAN = {}\n".format(
        repr(gxx),
        repr(clangxx),
        has_msan,
    ))

compilers_repository = repository_rule(
    implementation = _compilers_impl,
    environ = ["PATH"],
    # Evaluated again whenever Bazel's server starts.
    local = True,
)
