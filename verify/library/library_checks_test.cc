// Files that are no kernel library, and libraries that this recto cannot use: each is refused with
// its path and the reason, and none of them ends this process.

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/library/kernel_library.h"

namespace recto::verify {
namespace {

const std::string kFolder = "verify/library/";
const std::string kFaults = kFolder + "libfaults.so";

// The status of opening the library with this fault.
Status opened_with(const char* fault, const KernelLibraryOptions& options = {}) {
  setenv("RECTO_TEST_FAULT", fault, 1);
  const Status status = KernelLibrary::open(kFaults, options).status();
  unsetenv("RECTO_TEST_FAULT");
  return status;
}

Status refused(const std::string& words) { return Status::invalid_input(kFaults + ": " + words); }

TEST_CASE("a library that is right is opened, by any path") {
  CHECK(KernelLibrary::open(kFaults).status() == Status::ok());
  CHECK(KernelLibrary::open("./" + kFaults).value()->name() == "faults");
  CHECK(opened_with("next minor version") == Status::ok());
  const auto library = KernelLibrary::open(kFaults).value();
  CHECK(library->has(KernelFunction::kPrefill));
  CHECK_FALSE(library->has(KernelFunction::kDecode));
  CHECK_FALSE(library->has(KernelFunction::kKvWrite));
}

TEST_CASE("a file that is not a library is refused") {
  CHECK(KernelLibrary::open("nowhere/libmine.so").status() ==
        Status::invalid_input("nowhere/libmine.so: No such file or directory"));
  CHECK(KernelLibrary::open("verify").status() ==
        Status::invalid_input("verify: expected a shared library, got a folder"));
  const char* const folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/text.so";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs("text, and long enough to have the header of a library, were it one\n", file);
  std::fclose(file);
  const Status status = KernelLibrary::open(path).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(status.message().starts_with(path + ": not a loadable shared library: "));
  CHECK(status.message().ends_with("invalid ELF header"));
}

TEST_CASE("a library that was cut short is refused, and a whole copy is not") {
  std::ifstream opened(kFaults, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(opened), {}};
  const char* const folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/cut.so";
  const auto opened_to = [&](std::size_t size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    return KernelLibrary::open(path).status();
  };
  CHECK(opened_to(whole.size()) == Status::ok());
  for (const std::size_t parts : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const Status status = opened_to(whole.size() * parts / 16);
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK((status.message().find("the file ends early, at byte ") != std::string::npos));
  }
}

TEST_CASE("a library without the table's function is refused with its declaration") {
  const Status status = KernelLibrary::open(kFolder + "libno_table.so").status();
  CHECK(status.message() ==
        kFolder +
            "libno_table.so: exports no recto_kernel_table: expected `const RectoKernelTable* "
            "recto_kernel_table(void)` of recto_kernel.h, in C++ within extern \"C\"");
}

TEST_CASE("unusable tables are refused by their field") {
  CHECK(opened_with("no table") == refused("recto_kernel_table() returned null"));
  CHECK(opened_with("next major version") ==
        refused("abi_major: expected 1, got 2: build the library with this recto's header"));
  CHECK(opened_with("short table") ==
        refused("struct_bytes: expected sizeof(RectoKernelTable), at least 56, got 48"));
  CHECK(opened_with("unknown feature") ==
        refused("features: expected kRectoWithoutLseLn (1) or 0, got 4"));
  CHECK(opened_with("version 1.0") == Status::ok());
  CHECK(opened_with("no name") == refused("name: expected a name for tables, got nothing"));
  CHECK(opened_with("name with colours") ==
        refused("name: expected text, got a control character"));
  CHECK(opened_with("no function") ==
        refused("the table: expected decode, prefill or kv_write; all are null"));
  CHECK(opened_with("device memory") ==
        refused("memories: expected kRectoHostMemory (1), got kRectoDeviceMemory (2) alone: this "
                "program has no device memory; recto_on_gpu (//experiments:recto_on_gpu) has it"));
  CHECK(opened_with("no memory") ==
        refused("memories: expected kRectoHostMemory (1), kRectoDeviceMemory (2) or both, got 0"));
}

TEST_CASE("the table's function has the time limit of a call, and loading has its own") {
  const Status late = opened_with("loop in table", {.load_limit_ms = 60'000, .time_limit_ms = 50});
  CHECK(late.code() == StatusCode::kInvalidInput);
  CHECK(late.message().find("recto_kernel_table() did not return within ") != std::string::npos);
  CHECK(opened_with("", {.load_limit_ms = 60'000, .time_limit_ms = 50}).is_ok());
}

TEST_CASE("a library that does not survive its loading is refused") {
  CHECK(opened_with("abort when loaded") == refused("its load-time code was ended by SIGABRT"));
  CHECK(opened_with("abort in table") == refused("recto_kernel_table() was ended by SIGABRT"));
  // By CPU time, or by the clock on a busy machine.
  const Status late = opened_with("loop when loaded", {.load_limit_ms = 200});
  CHECK(late.code() == StatusCode::kInvalidInput);
  CHECK(late.message().find("its load-time code did not return within ") != std::string::npos);
}

}  // namespace
}  // namespace recto::verify
