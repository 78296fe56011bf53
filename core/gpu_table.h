#pragma once

// Graphics cards as data: memory, bandwidth and peak rates. Peaks are vendor figures for dense
// matrices; how much of them a kernel reaches is up to the users of the table.

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
  // What the driver reports, not what the box says. An engine sees the total of cudaMemGetInfo;
  // where only that of nvidia-smi is public (see memory_source), the computed pool is too large by
  // 0.5-2 % of the card.
  ByteCount memory;
  ByteCount marketed_memory;  // what the box says, read as decimal gigabytes
  double memory_bandwidth_bytes_per_s = 0;
  double dense_16bit_flops_per_s = 0;  // bf16 / fp16 tensor cores, fp32 accumulation, no sparsity
  std::optional<double> dense_8bit_flops_per_s;  // fp8 likewise; none before Ada and Hopper
  double host_link_bytes_per_s = 0;              // PCIe, one direction
  double peer_link_bytes_per_s = 0;              // to other cards, one direction
  std::string source;                            // of everything but `memory`
  std::string memory_source;
};

// All known cards, in the order of the documentation.
const std::vector<GpuSpec>& gpu_table();

// Looks a card up by name, ignoring case and separators ("rtx 4090"). Invalid input, listing the
// known names, if there is none.
Result<GpuSpec> find_gpu(std::string_view name);

// For cards that are not from the table: invalid input if there is no memory, or more than a
// petabyte.
Status check_gpu_memory(const GpuSpec& gpu);

}  // namespace recto
