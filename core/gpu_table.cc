#include "core/gpu_table.h"

#include <algorithm>
#include <cctype>

namespace recto {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kMostMemory = 1'000'000'000'000'000;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// One direction of a PCIe x16 slot; data sheets print both directions together (64 and 128 GB/s).
constexpr double kPcie4 = 32 * kGiga;
constexpr double kPcie5 = 64 * kGiga;

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

constexpr ByteCount marketed(std::int64_t gigabytes) {
  return ByteCount(gigabytes * 1'000'000'000);
}

std::vector<GpuSpec> ampere_cards() {
  return {
      {.name = "A100-40",
       .memory = ByteCount(40960 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(40),
       .memory_bandwidth_bytes_per_s = 1555 * kGiga,
       .dense_16bit_flops_per_s = 312 * kTera,
       .dense_8bit_flops_per_s = std::nullopt,
       .host_link_bytes_per_s = kPcie4,
       .peer_link_bytes_per_s = 300 * kGiga,
       .source = "NVIDIA A100 data sheet, SXM (NVLink 600 GB/s both ways)",
       .memory_source = kModalMemory},
      {.name = "A100-80",
       .memory = ByteCount(81920 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(80),
       .memory_bandwidth_bytes_per_s = 2039 * kGiga,
       .dense_16bit_flops_per_s = 312 * kTera,
       .dense_8bit_flops_per_s = std::nullopt,
       .host_link_bytes_per_s = kPcie4,
       .peer_link_bytes_per_s = 300 * kGiga,
       .source = "NVIDIA A100 80GB data sheet, SXM (NVLink 600 GB/s both ways)",
       .memory_source = kModalMemory},
  };
}

std::vector<GpuSpec> hopper_and_blackwell_cards() {
  return {
      {.name = "H100",
       .memory = ByteCount(81559 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(80),
       .memory_bandwidth_bytes_per_s = 3350 * kGiga,
       .dense_16bit_flops_per_s = 989.5 * kTera,
       .dense_8bit_flops_per_s = 1979 * kTera,
       .host_link_bytes_per_s = kPcie5,
       .peer_link_bytes_per_s = 450 * kGiga,
       .source = "NVIDIA H100 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
                 "(NVLink 900 GB/s both ways)",
       .memory_source = kModalMemory},
      {.name = "H200",
       .memory = ByteCount(143771 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(141),
       .memory_bandwidth_bytes_per_s = 4800 * kGiga,
       .dense_16bit_flops_per_s = 989.5 * kTera,
       .dense_8bit_flops_per_s = 1979 * kTera,
       .host_link_bytes_per_s = kPcie5,
       .peer_link_bytes_per_s = 450 * kGiga,
       .source = "NVIDIA H200 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
                 "(NVLink 900 GB/s both ways)",
       .memory_source = "nvidia-smi memory.total of an NVIDIA H200, 143771 MiB in public logs"},
      {.name = "B200",
       .memory = ByteCount(183359 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(180),
       .memory_bandwidth_bytes_per_s = 7672 * kGiga,
       .dense_16bit_flops_per_s = 2250 * kTera,
       .dense_8bit_flops_per_s = 4500 * kTera,
       .host_link_bytes_per_s = kPcie5,
       .peer_link_bytes_per_s = 900 * kGiga,
       .source = "NVIDIA Blackwell data sheet, HGX B200 per card, without sparsity (NVLink "
                 "1.8 TB/s both ways); bandwidth 7680 bit x 3996 MHz x 2 as the driver reports "
                 "(github.com/pytorch/ao/pull/4002), which the data sheet rounds to 8 TB/s",
       .memory_source = "nvidia-smi memory.total of an NVIDIA B200, 183359 MiB in public logs"},
  };
}

std::vector<GpuSpec> cards_without_nvlink() {
  return {
      {.name = "L4",
       .memory = ByteCount(23034 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(24),
       .memory_bandwidth_bytes_per_s = 300 * kGiga,
       .dense_16bit_flops_per_s = 121 * kTera,
       .dense_8bit_flops_per_s = 242.5 * kTera,
       .host_link_bytes_per_s = kPcie4,
       .peer_link_bytes_per_s = kPcie4,
       .source = "NVIDIA L4 data sheet: half of the 242 and 485 TFLOPS with sparsity",
       .memory_source = kModalMemory},
      {.name = "RTX-4090",
       .memory = ByteCount(25'250'627'584),
       .memory_basis = MemoryBasis::kCudaRuntime,
       .marketed_memory = marketed(24),
       .memory_bandwidth_bytes_per_s = 1008 * kGiga,
       .dense_16bit_flops_per_s = 165.2 * kTera,
       .dense_8bit_flops_per_s = 330.3 * kTera,
       .host_link_bytes_per_s = kPcie4,
       .peer_link_bytes_per_s = kPcie4,
       .source = "NVIDIA Ada GPU Architecture white paper, with FP32 accumulate",
       .memory_source = "device_total_memory_bytes of LLMServingSim's vLLM 0.19 run on the card"},
      {.name = "RTX-PRO-6000",
       .memory = ByteCount(97887 * kMebi),
       .memory_basis = MemoryBasis::kNvidiaSmi,
       .marketed_memory = marketed(96),
       .memory_bandwidth_bytes_per_s = 1792 * kGiga,
       .dense_16bit_flops_per_s = 503.8 * kTera,
       .dense_8bit_flops_per_s = 1007.6 * kTera,
       .host_link_bytes_per_s = kPcie5,
       .peer_link_bytes_per_s = kPcie5,
       .source = "NVIDIA RTX Blackwell PRO GPU Architecture white paper, Workstation Edition, "
                 "with FP32 accumulate",
       .memory_source = "nvidia-smi memory.total, in github.com/antirez/ds4/issues/431"},
  };
}

std::vector<GpuSpec> make_table() {
  std::vector<GpuSpec> table;
  for (const auto& family :
       {ampere_cards(), hopper_and_blackwell_cards(), cards_without_nvlink()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  return table;
}

}  // namespace

const std::vector<GpuSpec>& gpu_table() {
  static const std::vector<GpuSpec> kTable = make_table();
  return kTable;
}

Result<GpuSpec> find_gpu(std::string_view name) {
  const std::string wanted = plain_name(name);
  std::string known;
  for (const GpuSpec& gpu : gpu_table()) {
    if (plain_name(gpu.name) == wanted) return gpu;
    known += (known.empty() ? "" : ", ") + gpu.name;
  }
  return Status::invalid_input("unknown GPU '" + std::string(name) + "'; expected one of " + known);
}

Status check_gpu_memory(const GpuSpec& gpu) {
  const std::int64_t bytes = gpu.memory.value();
  if (bytes >= 1 && bytes <= kMostMemory) return Status::ok();
  return Status::invalid_input("GPU '" + gpu.name + "', field 'memory': " + std::to_string(bytes) +
                               "; expected 1 to " + std::to_string(kMostMemory) + " bytes");
}

}  // namespace recto
