"""What MODULE.bazel uses. Bazel 4 knows no module_extension, so this stands apart from libs.bzl."""

load("//bazel:libs.bzl", "libs_repository")

def _libs_impl(_ctx):
    libs_repository(name = "libs")

libs = module_extension(implementation = _libs_impl)
