#include "verify/library/cuda_source/library_builder.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kAdapter = "verify/library/cuda_source/testdata/row_decode_adapter.cc";

TEST_CASE("a built library exists as long as its owner") {
  if (!std::filesystem::exists("verify/library/cuda_source/row_decode.so")) {
    return testing::report_skipped("there is no nvcc");
  }
  std::string path;
  {
    const Result<BuiltLibrary> built = build_cuda_library({.adapter = kAdapter});
    INFO(built.status());
    REQUIRE(built.is_ok());
    path = built.value().path();
    CHECK(std::filesystem::exists(path));
  }
  CHECK(!std::filesystem::exists(path));
  CHECK(!std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST_CASE("the build script's error becomes the status") {
  const Result<BuiltLibrary> none = build_cuda_library({.adapter = "none.cc"});
  REQUIRE(!none.is_ok());
  CHECK(none.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(none.status().message(), ContainsSubstring("none.cc: No such file"));
}

TEST_CASE("the message names what to install if nvcc is missing") {
  setenv("RECTO_NVCC", "/nowhere/nvcc", 1);
  const Result<BuiltLibrary> built = build_cuda_library({.adapter = kAdapter});
  unsetenv("RECTO_NVCC");
  CHECK_THAT(built.status().message(), ContainsSubstring("/nowhere/nvcc: No such file"));
}

TEST_CASE("a wrong path of a CUDA kit is refused by name") {
  setenv("RECTO_CUDA_KIT", "/nowhere", 1);
  const Result<BuiltLibrary> built = build_cuda_library({.adapter = kAdapter});
  unsetenv("RECTO_CUDA_KIT");
  REQUIRE(!built.is_ok());
  CHECK_THAT(built.status().message(), ContainsSubstring("RECTO_CUDA_KIT"));
  CHECK_THAT(built.status().message(), ContainsSubstring("/nowhere"));
}

}  // namespace
}  // namespace recto::verify
