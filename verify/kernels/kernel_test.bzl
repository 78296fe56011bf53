"""Tests of kernels: linked with those of the executor, and with those of nvcc."""

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
    """A test on the executor, and NAME_on_gpu, the same cases on a GPU.

    Args:
      name: of the test.
      srcs: cases for both.
      hdrs: what they include of this package.
      executor_srcs: cases that a GPU cannot answer, or answers as the executor does.
      size: of both.
      shard_count: of that on the executor.
      deps: of the cases. None has kernels.
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
