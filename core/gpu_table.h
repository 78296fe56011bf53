#pragma once

// Graphics cards as data: memory, bandwidth and peak rates. Peaks are vendor figures for dense
// matrices; users of the table decide which share of a peak a kernel reaches.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto {

struct GpuSpec {
  std::string name;
  // The memory that the driver reports, not the advertised size. An engine sees the total of
  // cudaMemGetInfo; where only the total of nvidia-smi is published (see memory_source), the
  // computed pool is too large by 0.5-2 % of the card's memory.
  ByteCount memory;
  ByteCount marketed_memory;  // the advertised size, read as decimal gigabytes
  double memory_bandwidth_bytes_per_s = 0;
  double dense_16bit_flops_per_s = 0;  // bf16 / fp16 tensor cores, fp32 accumulation, no sparsity
  std::optional<double> dense_8bit_flops_per_s;  // fp8 likewise; none before Ada and Hopper
  double host_link_bytes_per_s = 0;              // PCIe, one direction
  double peer_link_bytes_per_s = 0;              // to other cards, one direction
  std::string source;                            // source of every field except `memory`
  std::string memory_source;
};

// All known cards, in the order of the documentation.
const std::vector<GpuSpec>& gpu_table();

// Looks a card up by name, ignoring case and separators ("rtx 4090"). Invalid input, listing the
// known names, if there is none.
Result<GpuSpec> find_gpu(std::string_view name);

// For cards that are not in the table: invalid input if the memory is 0 or less, or more than a
// petabyte.
Status check_gpu_memory(const GpuSpec& gpu);

}  // namespace recto
