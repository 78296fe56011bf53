#include "verify/ptx/machine/special_registers.h"

#include <array>
#include <cstring>

namespace recto::ptx {
namespace {

using Values = std::array<std::uint64_t, static_cast<std::size_t>(SpecialValue::kCount)>;

Values values_of(const BlockMemory& memory, const Warp& warp, unsigned lane) {
  const LaunchRun& run = memory.run();
  const Dim3& grid = run.shape.grid;
  const Dim3& block = run.shape.block;
  const Dim3& cluster = run.shape.cluster;
  const Dim3 at = memory.reporter().block();
  const Dim3 in_cluster = cluster.at(memory.rank());
  const auto workspace = reinterpret_cast<std::uintptr_t>(run.grid_workspace.data());
  const bool is_explicit = cluster.count() > 1 || run.program.cluster[0] != 0;
  const std::uint64_t warps = (block.count() + kWarpSize - 1) / kWarpSize;
  const Dim3 thread = block.at(warp.thread(lane));
  const LaneMask bit = LaneMask{1} << lane;
  // In the order of SpecialValue. There is one multiprocessor, and one grid.
  return {thread.x,
          thread.y,
          thread.z,
          block.x,
          block.y,
          block.z,
          at.x,
          at.y,
          at.z,
          grid.x,
          grid.y,
          grid.z,
          lane,
          warp.number,
          warps,
          0,
          1,
          1,
          bit,
          bit | (bit - 1),
          bit - 1,
          LaneMask{~(bit - 1)},
          LaneMask{~(bit | (bit - 1))},
          run.shape.dynamic_shared_bytes,
          memory.shared_end() - kSharedBegin,
          workspace & 0xffffffff,
          workspace >> 32,
          in_cluster.x,
          in_cluster.y,
          in_cluster.z,
          cluster.x,
          cluster.y,
          cluster.z,
          memory.rank(),
          cluster.count(),
          at.x / cluster.x,
          at.y / cluster.y,
          at.z / cluster.z,
          grid.x / cluster.x,
          grid.y / cluster.y,
          grid.z / cluster.z,
          is_explicit ? kAllLanes : 0};
}

}  // namespace

void fill_special_registers(const BlockMemory& memory, const Warp& warp) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Values values = values_of(memory, warp, lane);
    for (const SpecialRow& special : memory.run().program.specials) {
      const std::uint64_t& value = values[static_cast<std::size_t>(special.value)];
      std::byte* const row = warp.registers + special.place;
      if (special.width == kPredicateWidth) {
        std::memcpy(row, &value, sizeof(LaneMask));
      } else {
        std::memcpy(row + lane * special.width, &value, special.width);
      }
    }
  }
}

}  // namespace recto::ptx
