"""The tests of a package that run kernels on the executor, as text."""

_KERNELS = [
    "//verify/kernels:kernels",
    "//verify/kernels:kernels_observed",
]

def tests_of_kernels(name):
    """NAME: labels, one a line, of the C++ tests above it in its BUILD file that link kernels.

    Args:
      name: of the target.
    """
    tests = [
        "//%s:%s" % (native.package_name(), test)
        for test, rule in native.existing_rules().items()
        if rule["kind"] == "cc_test" and not test.endswith("_on_gpu")
    ]
    native.genquery(
        name = name,
        testonly = True,
        expression = "kind(cc_test, rdeps(set(%s), set(%s)))" %
                     (" ".join(tests), " ".join(_KERNELS)),
        scope = tests + _KERNELS,
        visibility = ["//verify/gpu:__pkg__"],
    )
