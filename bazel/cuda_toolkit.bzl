"""The repository @cuda: the path of the CUDA Toolkit, if there is one.

Everything builds and passes without it, so a missing toolkit is not an error: cuda.bzl leaves out
targets that need it, and says so.
"""

# In this order; a folder has bin/nvcc in it.
_SEARCHED = "CUDA_HOME, /usr/local/cuda, PATH"

_TOOLKIT = """\
# Made by //bazel:cuda_toolkit.bzl.
TOOLKIT = struct(
    nvcc = {nvcc},  # None: there is none
    root = {root},  # the folder that has include/
    version = {version},
    searched = {searched},
)
"""

_BUILD = """\
# Made by //bazel:cuda_toolkit.bzl.
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

# The CUDA runtime, linked statically: programs start, and say so, where no driver is.
cc_library(
    name = "cudart",
    linkopts = {linkopts},
)

# NVIDIA's types and their functions, which the host compiler takes, too.
cc_library(
    name = "headers",
    hdrs = glob([
        "include/*.h",
        "include/*.hpp",
        "include/crt/*",
    ]),
    includes = ["include"],
)
"""

def _find_nvcc(ctx):
    home = ctx.os.environ.get("CUDA_HOME")
    for folder in ([home] if home else []) + ["/usr/local/cuda"]:
        nvcc = ctx.path(folder + "/bin/nvcc")
        if nvcc.exists:
            return nvcc
    return ctx.which("nvcc")

def _version(ctx, nvcc):
    """Returns "13.0.88" for output that ends in "V13.0.88"."""
    result = ctx.execute([nvcc, "--version"])
    for word in result.stdout.replace("\n", " ").split(" "):
        if word.startswith("V") and word[1:].replace(".", "").isdigit():
            return word[1:]
    fail("cuda: {} --version names no version: {}".format(nvcc, result.stdout + result.stderr))

def _root(ctx, nvcc):
    """Returns the toolkit's folder: the nvcc in the PATH may be a script or a link."""
    result = ctx.execute([nvcc, "--dryrun", "-c", "none.cu"])
    for line in result.stderr.splitlines():
        if line.startswith("#$ TOP="):
            return ctx.path(line[len("#$ TOP="):].strip())
    return nvcc.dirname.dirname

def _linkopts(root):
    if not root:
        return []
    folder = root.get_child("lib64")
    if not folder.get_child("libcudart_static.a").exists:
        folder = root.get_child("lib")
    return ["-L{}".format(folder), "-lcudart_static", "-lrt", "-ldl", "-lpthread"]

def _toolkit_impl(ctx):
    nvcc = _find_nvcc(ctx)
    root = _root(ctx, nvcc) if nvcc else None
    ctx.file("toolkit.bzl", _TOOLKIT.format(
        nvcc = repr(str(nvcc)) if nvcc else "None",
        root = repr(str(root)) if root else "None",
        version = repr(_version(ctx, nvcc)) if nvcc else "None",
        searched = repr(_SEARCHED),
    ))
    ctx.file("BUILD.bazel", _BUILD.format(linkopts = repr(_linkopts(root))))
    if root:
        ctx.symlink(root.get_child("include"), "include")

cuda_repository = repository_rule(
    implementation = _toolkit_impl,
    environ = ["CUDA_HOME", "PATH"],
    # Searched again whenever Bazel's server starts.
    local = True,
)
