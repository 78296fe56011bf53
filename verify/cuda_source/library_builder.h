#pragma once

// Makes a kernel library of CUDA sources while a program runs, by build_cuda_library.py.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"

namespace recto::verify {

struct CudaSource {
  std::vector<std::string> sources = {};  // .cu files; none where the adapter includes them
  std::string adapter = {};               // recto_cuda_adapter.h
  std::vector<std::string> include_folders = {};
  std::vector<std::string> macros = {};  // NAME or NAME=VALUE
};

// A shared library in a folder of its own, which goes when this does.
class BuiltLibrary {
 public:
  explicit BuiltLibrary(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~BuiltLibrary();
  BuiltLibrary(BuiltLibrary&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  BuiltLibrary& operator=(BuiltLibrary&&) = delete;

  std::string path() const { return folder_ / "library.so"; }

 private:
  std::filesystem::path folder_;  // empty once moved from
};

// The folder that //verify/cuda_source:cuda_kit makes: RECTO_CUDA_KIT, or what Bazel has laid
// beside the running program. Failed where recto was built without a CUDA Toolkit.
Result<std::filesystem::path> find_cuda_kit();

// Takes seconds. Invalid input, with file and line where there are any: a file that is not there,
// what cannot be translated, compiled or linked.
Result<BuiltLibrary> build_cuda_library(const CudaSource& source);

}  // namespace recto::verify
