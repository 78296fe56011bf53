"""What is built once for each way to run the kernels: the suffix of a library says which."""

# The kernels of cuda/kernels.
KERNEL_BUILDS = {
    # On the executor.
    "": "//verify/kernels",
    "_observed": "//verify/kernels:kernels_observed",
    # Those of nvcc.
    "_on_gpu": "//verify/gpu:kernels",
    # Copies with sleeping faults, observed.
    "_with_mutants": "//verify/mutants:kernels_observed",
}

# Builds of kernels that only tests have.
TEST_BUILDS = ["_with_mutants"]

DEVICE_CALLS = {
    "": "//verify/kernels:device_call",
    "_observed": "//verify/kernels:device_call",
    "_on_gpu": "//verify/kernels:device_call_on_gpu",
    "_with_mutants": "//verify/kernels:device_call",
}

# The host API, with the kernels that it launches.
HOST_APIS = {
    "": [
        "//verify/host_api",
        "//verify/kernels",
    ],
    "_on_gpu": ["//verify/gpu:kernels"],
    "_with_mutants": [
        "//verify/mutants:host_api",
        "//verify/mutants:kernels_observed",
    ],
}
