"""The tests of a package that run kernels on the executor, as text."""

def tests_of_kernels(name, kernels):
    """NAME: labels, one a line, of the C++ tests above it in its BUILD file that link any kernels.

    Args:
      name: of the target.
      kernels: labels of what they link.
    """
    tests = [
        "//%s:%s" % (native.package_name(), test)
        for test, rule in native.existing_rules().items()
        if rule["kind"] == "cc_test" and not test.endswith("_on_gpu")
    ]
    kernels = [label.replace(":", "//%s:" % native.package_name()) for label in kernels]
    native.genquery(
        name = name,
        testonly = True,
        expression = "kind(cc_test, rdeps(set(%s), set(%s)))" %
                     (" ".join(tests), " ".join(kernels)),
        scope = tests,
        visibility = ["//%s/gpu:__pkg__" % native.package_name()],
    )
