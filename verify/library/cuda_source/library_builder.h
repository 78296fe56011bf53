#pragma once

// Builds a kernel library from CUDA sources or PTX at run time, with build_cuda_library.py.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "verify/library/cuda_source/work_folder.h"

namespace recto::verify {

struct CudaSource {
  std::vector<std::string> sources = {};  // .cu files; none if the adapter includes them
  std::string ptx = {};                   // a file, or empty
  std::string adapter = {};               // recto_cuda_adapter.h
  std::vector<std::string> include_folders = {};
  std::vector<std::string> macros = {};        // NAME or NAME=VALUE
  std::string arch = {};                       // the target of nvcc, as "90a"; empty: "80"
  std::vector<std::string> nvcc_options = {};  // others of nvcc, as "--fmad=false"
};

// A shared library in its own folder; the destructor removes both.
class BuiltLibrary {
 public:
  static constexpr const char* kName = "library.so";

  explicit BuiltLibrary(WorkFolder folder) : folder_(std::move(folder)) {}

  std::string path() const { return folder_.path() / kName; }

 private:
  WorkFolder folder_;
};

// The folder that //verify/library/cuda_source:cuda_kit makes: RECTO_CUDA_KIT, or the one that
// Bazel placed beside the running program. Failed if recto was built without g++.
Result<std::filesystem::path> find_cuda_kit();

// Takes seconds. Invalid input, with file and line if known, for a missing file, for PTX that
// cannot be read, for a source that cannot be compiled or linked, or for a target or options of
// nvcc where PTX alone is given; names what to install if there is no nvcc.
Result<BuiltLibrary> build_cuda_library(const CudaSource& source);

}  // namespace recto::verify
