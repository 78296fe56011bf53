// Tests of cuBLAS that need no card: it is found, and otherwise the message says why not.

#include "cuda/bench/blas_library.h"

#include <filesystem>
#include <iostream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::bench {
namespace {

using Catch::Matchers::ContainsSubstring;

// Where toolkits install it.
constexpr const char* kPaths[] = {"/usr/local/cuda/lib64/libcublas.so.13",
                                  "/usr/local/cuda/lib64/libcublas.so.12"};

TEST_CASE("a missing library is named") {
  const auto none = BlasLibrary::open("libnowhere.so.1");
  REQUIRE_FALSE(none.is_ok());
  CHECK_THAT(none.status().message(), ContainsSubstring("libnowhere.so.1: cannot open"));
}

TEST_CASE("the message for a missing cuBLAS gives the reason for each library name") {
  const auto found = BlasLibrary::open();
  if (found.is_ok()) {
    std::cout << "SKIPPED: the message where cuBLAS is missing; it is present\n";
    return;
  }
  CHECK_THAT(found.status().message(),
             ContainsSubstring("libcublas.so.13") && ContainsSubstring("; libcublas.so.12"));
}

TEST_CASE("a library other than cuBLAS is refused with the first missing function") {
  const auto other = BlasLibrary::open("libm.so.6");
  REQUIRE_FALSE(other.is_ok());
  CHECK_THAT(other.status().message(), ContainsSubstring("undefined symbol: cublasCreate_v2"));
}

TEST_CASE("cuBLAS opens with all functions, or reports that there is no card") {
  for (const std::string path : kPaths) {
    if (!std::filesystem::exists(path)) continue;
    const auto found = BlasLibrary::open(path);
    if (found.is_ok()) {
      CHECK_THAT(found.value().name(), ContainsSubstring("cuBLAS 1"));
    } else {
      CHECK_THAT(found.status().message(), ContainsSubstring("cublasCreate: error "));
    }
    return;
  }
  std::cout << "SKIPPED: cuBLAS: none in /usr/local/cuda/lib64\n";
}

}  // namespace
}  // namespace recto::bench
