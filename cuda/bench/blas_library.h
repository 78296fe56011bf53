#pragma once

// cuBLAS, if it is installed: the card vendor's fastest matrix product. Loaded at run time, not
// linked, so that programs also run where it is not installed.

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"

namespace recto::bench {

class BlasLibrary {
 public:
  // `path` as for dlopen(); by default, tries the file names that toolkits and PyTorch's packages
  // use. Failed, with the linker's message, if there is no such library; with cuBLAS's, if it finds
  // no card; with the messages of all names tried.
  static Result<BlasLibrary> open();
  static Result<BlasLibrary> open(const std::string& path);

  BlasLibrary(BlasLibrary&&) noexcept;
  ~BlasLibrary();

  // "cuBLAS 13.1.0"
  std::string name() const;

  // Launches c = a b in bf16 on the default stream; each [size, size], on the device. Sums are
  // fp32.
  Status multiply(const void* a, const void* b, void* c, int size) const;

 private:
  struct Opened;
  explicit BlasLibrary(std::unique_ptr<Opened> opened);

  std::unique_ptr<Opened> opened_;
};

}  // namespace recto::bench
