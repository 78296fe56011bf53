#pragma once

// cuBLAS, where it is installed: the fastest matrix product that a card's maker knows of. Nothing
// is linked with it, so that programs run where it is not.

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"

namespace recto::bench {

class BlasLibrary {
 public:
  // `path` as of dlopen(); by default the names that toolkits and PyTorch's packages have. Failed,
  // in the linker's words, where there is none; in cuBLAS's, where it finds no card; of all names.
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
