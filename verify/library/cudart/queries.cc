// What host code asks about the device and about errors.

#include <algorithm>
#include <iterator>
#include <utility>

#include "verify/library/cudart/device.h"

namespace recto::cudart {
namespace {

// As many as keeps the grids of persistent kernels small.
constexpr int kMultiprocessors = 8;

// The value of a cudaDeviceAttr, for any card of sm_80 and later.
int attribute_of(int attribute) {
  const int target = Device::instance().modules().target();
  constexpr std::pair<int, int> kValues[] = {
      {1, 1024},        // threads of a block
      {2, 1024},        // in x
      {3, 1024},        // in y
      {4, 64},          // in z
      {5, 0x7fffffff},  // thread blocks in x
      {6, 65535},       // in y
      {7, 65535},       // in z
      {8, 48 << 10},    // shared memory of a block
      {10, 32},         // lanes of a warp
      {12, 65536},      // registers of a block
      {16, kMultiprocessors},
      {38, 50 << 20},   // L2 cache
      {39, 2048},       // threads of a multiprocessor
      {41, 1},          // unified addresses
      {81, 228 << 10},  // shared memory of a multiprocessor
      {82, 65536},      // its registers
      {83, 1},          // managed memory
      {95, 1},          // cooperative launches
      {97, 227 << 10},  // shared memory of a block, on request
      {106, 32},        // thread blocks of a multiprocessor
      {115, 1}};        // memory pools
  if (attribute == 75) return target / 10;
  if (attribute == 76) return target % 10;
  for (const auto& [number, value] : kValues) {
    if (number == attribute) return value;
  }
  return 0;
}

struct ErrorText {
  CudaError error;
  const char* name;
  const char* text;
};

// As CUDA's runtime has them.
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidHandle, "cudaErrorInvalidHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"}};

const ErrorText& text_of(CudaError error) {
  static constexpr ErrorText kUnknown = {cudaSuccess, "unrecognized error code",
                                         "unrecognized error code"};
  const auto found = std::ranges::find(kErrors, error, &ErrorText::error);
  return found == std::end(kErrors) ? kUnknown : *found;
}

}  // namespace
}  // namespace recto::cudart

using namespace recto::cudart;

// NOLINTBEGIN: NVIDIA's names and parameters
extern "C" {

CudaError cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
CudaError cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
CudaError cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : Device::instance().fail(cudaErrorInvalidDevice);
}
CudaError cudaDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute_of(attribute);
  return cudaSuccess;
}
CudaError cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
CudaError cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

CudaError cudaGetLastError() { return Device::instance().take_last_error(); }
CudaError cudaPeekAtLastError() { return Device::instance().last_error(); }
const char* cudaGetErrorString(CudaError error) { return text_of(error).text; }
const char* cudaGetErrorName(CudaError error) { return text_of(error).name; }

}  // extern "C"
// NOLINTEND
