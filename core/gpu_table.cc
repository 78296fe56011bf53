#include "core/gpu_table.h"

#include <cctype>

#include "core/refusal.h"

namespace recto {
namespace {

constexpr std::int64_t kMostMemory = 1'000'000'000'000'000;

// One direction of a PCIe x16 slot in bytes/s; data sheets print the sum of both directions (64 and
// 128 GB/s).
constexpr double kPcie4 = 32e9;
constexpr double kPcie5 = 64e9;

constexpr const char* kModalMemory =
    "nvidia-smi memory.total, as listed in github.com/modal-labs/modal-client/pull/2797";

// "RTX 4090", "rtx_4090" and "RTX-4090" are one name.
std::string plain_name(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_') continue;
    plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return plain;
}

constexpr std::nullopt_t kNone = std::nullopt;

constexpr ByteCount mebi(std::int64_t count) { return ByteCount(count << 20); }
constexpr ByteCount giga(std::int64_t count) { return ByteCount(count * 1'000'000'000); }

}  // namespace

// clang-format off
const std::vector<GpuSpec>& gpu_table() {
  static const std::vector<GpuSpec> kTable = {
    // name          memory        box        bytes/s  FLOP/s: 16, 8 bit  link bytes/s: host, peer
    {"A100-40",      mebi(40960),  giga(40),  1555e9,   312e12, kNone,     kPcie4, 300e9,
     "NVIDIA A100 data sheet, SXM (NVLink 600 GB/s both ways)", kModalMemory},
    {"A100-80",      mebi(81920),  giga(80),  2039e9,   312e12, kNone,     kPcie4, 300e9,
     "NVIDIA A100 80GB data sheet, SXM (NVLink 600 GB/s both ways)", kModalMemory},
    {"H100",         mebi(81559),  giga(80),  3350e9, 989.5e12, 1979e12,   kPcie5, 450e9,
     "NVIDIA H100 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
     "(NVLink 900 GB/s both ways)", kModalMemory},
    {"H200",         mebi(143771), giga(141), 4800e9, 989.5e12, 1979e12,   kPcie5, 450e9,
     "NVIDIA H200 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
     "(NVLink 900 GB/s both ways)",
     "nvidia-smi memory.total of an NVIDIA H200, 143771 MiB in public logs"},
    {"B200",         mebi(183359), giga(180), 7672e9,  2250e12, 4500e12,   kPcie5, 900e9,
     "NVIDIA Blackwell data sheet, HGX B200 per card, without sparsity (NVLink "
     "1.8 TB/s both ways); bandwidth 7680 bit x 3996 MHz x 2 as the driver reports "
     "(github.com/pytorch/ao/pull/4002), which the data sheet rounds to 8 TB/s",
     "nvidia-smi memory.total of an NVIDIA B200, 183359 MiB in public logs"},
    {"L4",           mebi(23034),  giga(24),   300e9,   121e12, 242.5e12,  kPcie4, kPcie4,
     "NVIDIA L4 data sheet: half of the 242 and 485 TFLOPS with sparsity", kModalMemory},
    {"RTX-4090",     ByteCount(25'250'627'584),
                                   giga(24),  1008e9, 165.2e12, 330.3e12,  kPcie4, kPcie4,
     "NVIDIA Ada GPU Architecture white paper, with FP32 accumulate",
     "device_total_memory_bytes of LLMServingSim's vLLM 0.19 run on the card"},
    {"RTX-PRO-6000", mebi(97887),  giga(96),  1792e9, 503.8e12, 1007.6e12, kPcie5, kPcie5,
     "NVIDIA RTX Blackwell PRO GPU Architecture white paper, Workstation Edition, "
     "with FP32 accumulate", "nvidia-smi memory.total, in github.com/antirez/ds4/issues/431"},
  };
  return kTable;
}
// clang-format on

Result<GpuSpec> find_gpu(std::string_view name) {
  const std::string wanted = plain_name(name);
  for (const GpuSpec& gpu : gpu_table()) {
    if (plain_name(gpu.name) == wanted) return gpu;
  }
  return Status::invalid_input("unknown GPU '" + std::string(name) + "'; expected one of " +
                               list_names(gpu_table(), &GpuSpec::name));
}

Status check_gpu_memory(const GpuSpec& gpu) {
  const std::int64_t bytes = gpu.memory.value();
  if (bytes >= 1 && bytes <= kMostMemory) return Status::ok();
  return Status::invalid_input("GPU '" + gpu.name + "', field 'memory': " + std::to_string(bytes) +
                               "; expected 1 to " + std::to_string(kMostMemory) + " bytes");
}

}  // namespace recto
