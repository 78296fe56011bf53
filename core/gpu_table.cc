#include "core/gpu_table.h"

#include <algorithm>
#include <cctype>

namespace recto {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kMostMemory = 1'000'000'000'000'000;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// One direction of a PCIe x16 slot in GB/s; data sheets print the sum of both directions (64 and
// 128 GB/s).
constexpr double kPcie4 = 32;
constexpr double kPcie5 = 64;

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

// A row of the table below, in the units of the table's head.
struct Row {
  const char* name;
  std::int64_t memory_bytes;  // as the driver reports it
  std::int64_t marketed_gb;
  double bandwidth_gb_per_s;
  double dense_16bit_tflops;
  std::optional<double> dense_8bit_tflops;
  double host_link_gb_per_s;
  double peer_link_gb_per_s;
  const char* source;
  const char* memory_source;
};

constexpr std::nullopt_t kNone = std::nullopt;

// clang-format off
constexpr Row kRows[] = {
    // name           memory         box GB  GB/s  TFLOP/s: 16, 8 bit  links GB/s: host, peer
    {"A100-40",       40960 * kMebi,  40,    1555,  312,   kNone,      kPcie4,    300,
     "NVIDIA A100 data sheet, SXM (NVLink 600 GB/s both ways)", kModalMemory},
    {"A100-80",       81920 * kMebi,  80,    2039,  312,   kNone,      kPcie4,    300,
     "NVIDIA A100 80GB data sheet, SXM (NVLink 600 GB/s both ways)", kModalMemory},
    {"H100",          81559 * kMebi,  80,    3350,  989.5, 1979,       kPcie5,    450,
     "NVIDIA H100 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
     "(NVLink 900 GB/s both ways)", kModalMemory},
    {"H200",         143771 * kMebi, 141,    4800,  989.5, 1979,       kPcie5,    450,
     "NVIDIA H200 data sheet, SXM: half of the 1,979 and 3,958 TFLOPS with sparsity "
     "(NVLink 900 GB/s both ways)",
     "nvidia-smi memory.total of an NVIDIA H200, 143771 MiB in public logs"},
    {"B200",         183359 * kMebi, 180,    7672, 2250,   4500,       kPcie5,    900,
     "NVIDIA Blackwell data sheet, HGX B200 per card, without sparsity (NVLink "
     "1.8 TB/s both ways); bandwidth 7680 bit x 3996 MHz x 2 as the driver reports "
     "(github.com/pytorch/ao/pull/4002), which the data sheet rounds to 8 TB/s",
     "nvidia-smi memory.total of an NVIDIA B200, 183359 MiB in public logs"},
    {"L4",            23034 * kMebi,  24,     300,  121,   242.5,      kPcie4, kPcie4,
     "NVIDIA L4 data sheet: half of the 242 and 485 TFLOPS with sparsity", kModalMemory},
    {"RTX-4090",     25'250'627'584,  24,    1008,  165.2, 330.3,      kPcie4, kPcie4,
     "NVIDIA Ada GPU Architecture white paper, with FP32 accumulate",
     "device_total_memory_bytes of LLMServingSim's vLLM 0.19 run on the card"},
    {"RTX-PRO-6000",  97887 * kMebi,  96,    1792,  503.8, 1007.6,     kPcie5, kPcie5,
     "NVIDIA RTX Blackwell PRO GPU Architecture white paper, Workstation Edition, "
     "with FP32 accumulate", "nvidia-smi memory.total, in github.com/antirez/ds4/issues/431"},
};
// clang-format on

std::vector<GpuSpec> make_table() {
  std::vector<GpuSpec> table;
  for (const Row& row : kRows) {
    GpuSpec& gpu = table.emplace_back();
    gpu = {.name = row.name,
           .memory = ByteCount(row.memory_bytes),
           .marketed_memory = ByteCount(row.marketed_gb * 1'000'000'000),
           .memory_bandwidth_bytes_per_s = row.bandwidth_gb_per_s * kGiga,
           .dense_16bit_flops_per_s = row.dense_16bit_tflops * kTera,
           .dense_8bit_flops_per_s = std::nullopt,
           .host_link_bytes_per_s = row.host_link_gb_per_s * kGiga,
           .peer_link_bytes_per_s = row.peer_link_gb_per_s * kGiga,
           .source = row.source,
           .memory_source = row.memory_source};
    if (row.dense_8bit_tflops) gpu.dense_8bit_flops_per_s = *row.dense_8bit_tflops * kTera;
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
