#include "verify/simt/executor/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/random_stream.h"
#include "verify/simt/executor/ready_set.h"
#include "verify/simt/executor/shared_memory.h"

namespace recto::simt {
namespace {

// CUDA C++ Programming Guide, technical specifications of compute capability 9.0.
constexpr unsigned kGridXMax = 2147483647;
constexpr unsigned kGridYzMax = 65535;
constexpr unsigned kBlockZMax = 64;
// The limit of fibers in a cooperative launch. Each stack with its guard takes two mappings. Linux
// gives a process 65530 mappings (vm.max_map_count) by default: these take half of them. A card
// with 132 multiprocessors holds sixteen times as many threads.
constexpr std::uint64_t kCooperativeThreadsMax = 16384;

bool is_same(const Finding& a, const Finding& b) {
  return a.check == b.check && a.place == b.place && a.other_place == b.other_place &&
         (a.place.site.line != 0 || a.place.instruction != 0 || a.what == b.what);
}

// One source line may have many instructions.
bool is_same_line(const Finding& a, const Finding& b) {
  return a.check == b.check && (a.place.instruction != 0) == (b.place.instruction != 0) &&
         a.place.text() == b.place.text() && a.other_place.text() == b.other_place.text() &&
         (a.place.site.line != 0 || a.place.instruction != 0 || a.what == b.what);
}

std::string dims_text(const Dim3& dims) {
  return fmt::format("({}, {}, {})", dims.x, dims.y, dims.z);
}

std::string what_is_invalid(const LaunchConfig& config) {
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  if (grid.count() == 0 || grid.x > kGridXMax || grid.y > kGridYzMax || grid.z > kGridYzMax) {
    return fmt::format("grid {}: expected 1 to ({}, {}, {})", dims_text(grid), kGridXMax,
                       kGridYzMax, kGridYzMax);
  }
  if (block.count() == 0 || block.count() > ReadySet::kThreadsMax || block.z > kBlockZMax) {
    return fmt::format("block {}: expected 1 to {} threads, and z up to {}, got {} threads",
                       dims_text(block), ReadySet::kThreadsMax, kBlockZMax, block.count());
  }
  if (config.dynamic_shared_bytes > SharedMemory::kBytesMax) {
    return fmt::format("dynamic shared memory: expected at most {} bytes, got {}",
                       SharedMemory::kBytesMax, config.dynamic_shared_bytes);
  }
  if (config.dynamic_shared_bytes > config.dynamic_shared_max) {
    return fmt::format(
        "dynamic shared memory: expected at most {} bytes, because cudaFuncSetAttribute has not "
        "requested more (cudaFuncAttributeMaxDynamicSharedMemorySize), got {}",
        config.dynamic_shared_max, config.dynamic_shared_bytes);
  }
  if (config.is_cooperative && grid.count() * block.count() > kCooperativeThreadsMax) {
    return fmt::format("cooperative launch: expected at most {} threads in all, got {}",
                       kCooperativeThreadsMax, grid.count() * block.count());
  }
  return {};
}

}  // namespace

std::string LaunchReport::text() const {
  std::string text;
  for (const Finding& finding : findings) text += finding.text() + "\n";
  return text;
}

void Launch::report(std::uint64_t order, Finding finding) {
  finding.kernel = config.kernel;
  const std::lock_guard lock(mutex_);
  const bool is_known = std::ranges::any_of(findings_, [&](const auto& known) {
    return known.first <= order && is_same(known.second, finding);
  });
  if (!is_known) findings_.emplace_back(order, std::move(finding));
}

void Launch::stop_after(std::uint64_t order) {
  std::uint64_t known = stop_at.load();
  while (order + 1 < known && !stop_at.compare_exchange_weak(known, order + 1)) {
  }
}

std::vector<Finding> Launch::take_findings() {
  std::ranges::stable_sort(findings_, {}, [](const auto& entry) { return entry.first; });
  std::vector<Finding> different;
  // Without room for a finding, a wrong launch would seem to have passed.
  const std::size_t most = std::max<std::size_t>(1, options.findings_max);
  for (auto& [order, finding] : findings_) {
    if (order >= stop_at || different.size() == most) break;
    const auto& same = finding;
    if (std::ranges::none_of(different, [&](const Finding& f) { return is_same_line(f, same); })) {
      different.push_back(std::move(finding));
    }
  }
  findings_.clear();
  return different;
}

std::uint64_t Launch::block_at(std::uint64_t order) const {
  const std::uint64_t count = config.grid.count();
  if (options.schedule.policy == SchedulePolicy::kInOrder) return order;
  if (options.schedule.policy == SchedulePolicy::kReverse) return count - 1 - order;
  // A permutation without a table: a step that is coprime to the count.
  const std::uint64_t first = mix_bits(options.schedule.seed) % count;
  std::uint64_t step = mix_bits(options.schedule.seed + 1) % count | 1;
  while (std::gcd(step, count) != 1) ++step;
  return (first + order % count * (step % count)) % count;
}

std::optional<Finding> why_invalid(const LaunchConfig& config, const KernelCall& call) {
  std::string what =
      call.call == nullptr ? "expected a kernel, got a null pointer" : what_is_invalid(config);
  if (what.empty()) return std::nullopt;
  return Finding{.check = Check::kInvalidLaunch, .kernel = config.kernel, .what = std::move(what)};
}

}  // namespace recto::simt
