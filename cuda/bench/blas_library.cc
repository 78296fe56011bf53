#include "cuda/bench/blas_library.h"

#include <dlfcn.h>

#include <utility>

namespace recto::bench {
namespace {

// Declared as in cublas_api.h and library_types.h; card_rates.cu compares them with these headers.
using Create = int (*)(void** handle);
using Destroy = int (*)(void* handle);
using GetVersion = int (*)(void* handle, int* version);
using GemmEx = int (*)(void* handle, int transposes_a, int transposes_b, int m, int n, int k,
                       const void* alpha, const void* a, int a_type, int a_stride, const void* b,
                       int b_type, int b_stride, const void* beta, void* c, int c_type,
                       int c_stride, int compute_type, int algorithm);
constexpr int kAsItIs = 0;
constexpr int kBf16 = 14;
constexpr int kSumsInFp32 = 68;
constexpr int kAnyAlgorithm = -1;

Status status_of(int error, const std::string& call) {
  return error == 0 ? Status::ok() : Status::failed(call + ": error " + std::to_string(error));
}

}  // namespace

struct BlasLibrary::Opened {
  Opened() = default;
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  // Does not unload the library: it may have registered work for the program's exit.
  ~Opened() {
    if (handle != nullptr) destroy(handle);
  }

  void* library = nullptr;
  void* handle = nullptr;
  Create create = nullptr;
  Destroy destroy = nullptr;
  GetVersion get_version = nullptr;
  GemmEx gemm_ex = nullptr;
};

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

BlasLibrary::BlasLibrary(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
BlasLibrary::BlasLibrary(BlasLibrary&&) noexcept = default;
BlasLibrary::~BlasLibrary() = default;

Result<BlasLibrary> BlasLibrary::open(const std::string& path) {
  auto opened = std::make_unique<Opened>();
  opened->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened->library == nullptr) return Status::failed(dlerror());
  if (!find(opened->library, "cublasCreate_v2", opened->create) ||
      !find(opened->library, "cublasDestroy_v2", opened->destroy) ||
      !find(opened->library, "cublasGetVersion_v2", opened->get_version) ||
      !find(opened->library, "cublasGemmEx", opened->gemm_ex)) {
    return Status::failed(dlerror());
  }
  RECTO_RETURN_IF_ERROR(status_of(opened->create(&opened->handle), path + ": cublasCreate"));
  return BlasLibrary(std::move(opened));
}

Result<BlasLibrary> BlasLibrary::open() {
  std::string why;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
    Result<BlasLibrary> library = open(name);
    if (library.is_ok()) return library;
    why += (why.empty() ? "" : "; ") + library.status().message();
  }
  return Status::failed(why);
}

std::string BlasLibrary::name() const {
  int version = 0;
  if (opened_->get_version(opened_->handle, &version) != 0) return "cuBLAS";
  return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

Status BlasLibrary::multiply(const void* a, const void* b, void* c, int size) const {
  const float one = 1;
  const float zero = 0;
  return status_of(
      opened_->gemm_ex(opened_->handle, kAsItIs, kAsItIs, size, size, size, &one, a, kBf16, size, b,
                       kBf16, size, &zero, c, kBf16, size, kSumsInFp32, kAnyAlgorithm),
      "cublasGemmEx");
}

}  // namespace recto::bench
