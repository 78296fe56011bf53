#include "verify/kernels/nvcc/nvcc_backends.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/library/kernel_library.h"

namespace recto::verify {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "verify/kernels/nvcc";
// The executor is slow, and has its own limits for kernels that never end.
constexpr std::int64_t kTimeLimitMs = 120'000;

// The library, opened by the first call, or why it cannot be.
class LateLibrary {
 public:
  explicit LateLibrary(std::string path) : path_(std::move(path)) {}

  const Result<std::shared_ptr<KernelLibrary>>& get() {
    if (!opened_) {
      opened_ = std::make_unique<Result<std::shared_ptr<KernelLibrary>>>(KernelLibrary::open(
          path_, {.load_limit_ms = kTimeLimitMs, .time_limit_ms = kTimeLimitMs}));
    }
    return *opened_;
  }
  KernelLibrary* if_open() const {
    return opened_ != nullptr && opened_->is_ok() ? opened_->value().get() : nullptr;
  }

 private:
  std::string path_;
  std::unique_ptr<Result<std::shared_ptr<KernelLibrary>>> opened_;
};

}  // namespace

Result<std::string> nvcc_library(const std::string& target) {
  const std::string name = "ptx-" + target + ".so";
  std::error_code error;
  std::vector<fs::path> places;
  if (const char* asked = std::getenv("RECTO_NVCC_KERNELS")) places.emplace_back(asked);
  // In tests, this is the folder of test data.
  places.emplace_back(kFolder);
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.push_back(program.string() + ".runfiles/recto/" + kFolder);
    places.push_back(program.parent_path().parent_path() / kFolder);
  }
  for (const fs::path& place : places) {
    if (fs::exists(place / name, error)) return fs::absolute(place / name).string();
  }
  return Status::failed("not built beside this program: " + std::string(kFolder) +
                        " says how, where there is nvcc");
}

Backend nvcc_backend(const std::string& target, const std::string& library) {
  // Its refusals and numerics are those of the same plan.
  Backend backend = host_api_backend({}, {});
  backend.name = "ptx-" + target;
  backend.capabilities = {.takes_stale_memory = true, .takes_out_gaps = true};
  const auto late = std::make_shared<LateLibrary>(library);
  backend.attend = [late](const PagedAttentionInputs& inputs,
                          const CallOptions& options) -> CallOutcome {
    const auto& opened = late->get();
    if (!opened.is_ok()) return Failed{"the library does not load", opened.status().message()};
    return opened.value()->attend(KernelFunction::kPrefill, inputs, options);
  };
  backend.restart = [late](CallsAre calls) {
    if (KernelLibrary* const open = late->if_open()) open->restart(calls);
  };
  return backend;
}

}  // namespace recto::verify
