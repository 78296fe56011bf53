"""Extensions for MODULE.bazel. Bazel 4 has no module_extension, so they are in a separate file."""

load("//bazel:archives.bzl", "archives_repository")
load("//bazel:compilers.bzl", "compilers_repository")
load("//bazel:cuda_toolkit.bzl", "cuda_repository")
load("//bazel:libs.bzl", "libs_repository")
load("//bazel:python_packages.bzl", "python_packages_repository")

def _libs_impl(_ctx):
    libs_repository(name = "libs")

libs = module_extension(implementation = _libs_impl)

def _archives_impl(_ctx):
    archives_repository(name = "archives")

archives = module_extension(implementation = _archives_impl)

def _compilers_impl(_ctx):
    compilers_repository(name = "compilers")

compilers = module_extension(implementation = _compilers_impl)

def _cuda_impl(_ctx):
    cuda_repository(name = "cuda")

cuda = module_extension(implementation = _cuda_impl)

def _python_packages_impl(_ctx):
    python_packages_repository(name = "python_packages")

python_packages = module_extension(implementation = _python_packages_impl)
