#include "verify/ptx/launch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "verify/ptx/machine/cluster.h"

namespace recto::ptx {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr std::uint64_t kThreadsMax = 1024;
constexpr std::uint32_t kThreadsInZMax = 64;
constexpr std::uint64_t kGridXMax = 2147483647;
constexpr std::uint64_t kGridYZMax = 65535;
constexpr std::uint64_t kSharedBytesMax = 227 << 10;
// All of a cooperative launch's thread blocks have their state at once.
constexpr std::uint64_t kCooperativeBlocksMax = 1024;
constexpr std::uint64_t kClusterBlocksMax = 16;

std::string why_invalid(const Program& program, const LaunchShape& shape,
                        const Arguments& arguments, const LaunchOptions& options) {
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  if (grid.count() == 0 || grid.x > kGridXMax || grid.y > kGridYZMax || grid.z > kGridYZMax) {
    return "the grid " + grid.text() + " is not within (2147483647, 65535, 65535)";
  }
  const bool is_small = block.x <= kThreadsMax && block.y <= kThreadsMax;
  if (!is_small || block.count() == 0 || block.count() > kThreadsMax || block.z > kThreadsInZMax) {
    return "the thread block " + block.text() + " does not have 1 to 1024 threads, 64 of them in z";
  }
  if (program.threads_max != 0 && block.count() > program.threads_max) {
    return "the thread block has " + std::to_string(block.count()) +
           " threads, the kernel allows " + std::to_string(program.threads_max);
  }
  if (const auto& [x, y, z] = program.threads; x != 0 && block != Dim3{x, y, z}) {
    return "the thread block is " + block.text() + ", the kernel requires " + Dim3{x, y, z}.text() +
           " (.reqntid)";
  }
  const std::uint64_t shared_bytes =
      program.shared_bytes - kSharedBegin + std::uint64_t{shape.dynamic_shared_bytes};
  if (shape.dynamic_shared_bytes > kSharedBytesMax || shared_bytes > kSharedBytesMax) {
    return "shared memory takes " + std::to_string(shared_bytes) + " bytes, more than " +
           std::to_string(kSharedBytesMax);
  }
  const Dim3& cluster = shape.cluster;
  const bool divides = cluster.count() != 0 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
                       grid.z % cluster.z == 0;
  if (!divides || cluster.count() > kClusterBlocksMax) {
    return "clusters of " + cluster.text() +
           " thread blocks; they have at most 16, and divide the grid";
  }
  if (arguments.bytes().size() < program.parameter_bytes) {
    return "the arguments have " + std::to_string(arguments.bytes().size()) +
           " bytes, the parameters " + std::to_string(program.parameter_bytes);
  }
  if (options.is_cooperative && grid.count() > kCooperativeBlocksMax) {
    return "a cooperative launch has at most " + std::to_string(kCooperativeBlocksMax) +
           " thread blocks";
  }
  return {};
}

Program perturbed_program(Program program, std::uint32_t seed) {
  for (const ApproximateStep& each : program.approximations) {
    program.steps[each.step].lanes = each.perturbed;
    program.steps[each.step].detail = seed;
  }
  return program;
}

void run_apart(LaunchRun& run) {
  Cluster cluster(run);
  const std::uint64_t count = run.shape.grid.count() / run.shape.cluster.count();
  const bool is_reverse = run.options.schedule.policy == SchedulePolicy::kReverse;
  for (std::uint64_t i = 0; i < count; ++i) {
    cluster.begin(is_reverse ? count - 1 - i : i);
    if (!run_to_end({&cluster, 1})) return;
  }
}

void run_side_by_side(LaunchRun& run) {
  std::vector<Cluster> clusters;
  const std::uint64_t count = run.shape.grid.count() / run.shape.cluster.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    clusters.emplace_back(run);
    clusters.back().begin(i);
  }
  run_to_end(clusters);
}

}  // namespace

LaunchReport launch(const Kernel& kernel, const LaunchShape& given, const Arguments& arguments,
                    const DeviceMemory& memory, const LaunchOptions& options) {
  const Program& accurate =
      options.checks.undefined_registers ? kernel.tracked_program() : kernel.program();
  std::optional<Program> perturbed;
  if (options.approximation == Approximation::kPerturbed) {
    perturbed = perturbed_program(accurate, options.approximation_seed);
  }
  const Program& program = perturbed ? *perturbed : accurate;
  LaunchShape shape = given;
  const auto& [x, y, z] = program.cluster;
  if (x != 0) shape.cluster = {x, y, z};
  LaunchRun run(program, kernel.sources(), shape, options);
  std::string problem = why_invalid(program, shape, arguments, options);
  if (given.cluster.count() != 1 && given.cluster != shape.cluster) {
    problem = "clusters of " + given.cluster.text() + " thread blocks, the kernel has " +
              shape.cluster.text();
  }
  if (!problem.empty()) {
    Finding finding;
    finding.kernel = kernel.name();
    finding.what = problem;
    run.report(std::move(finding));
    return std::move(run.outcome);
  }
  run.set_memory(memory, kernel.variables());
  run.set_arguments(arguments.bytes());
  if (options.is_cooperative) {
    run_side_by_side(run);
  } else {
    run_apart(run);
  }
  Counters& counters = run.outcome.counters;
  for (const std::uint64_t count : counters.by_action) counters.instructions += count;
  return std::move(run.outcome);
}

}  // namespace recto::ptx
