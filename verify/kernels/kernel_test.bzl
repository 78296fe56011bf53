"""Tests of kernels, linked with the executor's build and with nvcc's build."""

load("//bazel:cuda.bzl", "gpu_test")
load("//bazel:defs.bzl", "recto_test", "recto_test_cases")

def kernel_test(
        name,
        srcs,
        hdrs = [],
        executor_srcs = [],
        size = "medium",
        shard_count = None,
        deps = [],
        **kwargs):
    """A test on the executor, and NAME_on_gpu with the same cases on a GPU.

    Args:
      name: of the test.
      srcs: cases for both.
      hdrs: headers of this package that they include.
      executor_srcs: cases that cannot or need not run on a GPU.
      size: of both tests.
      shard_count: of the test on the executor.
      deps: of the cases; must not contain kernels.
    """
    cases = name + "_cases"
    recto_test_cases(name = cases, srcs = srcs + hdrs, deps = deps)
    recto_test(
        name = name,
        size = size,
        shard_count = shard_count,
        srcs = executor_srcs + (hdrs if executor_srcs else []),
        deps = deps + [":" + cases, "//verify/kernels:on_executor"],
        **kwargs
    )
    gpu_test(name = name + "_on_gpu", size = size, srcs = [], deps = [":" + cases], **kwargs)
