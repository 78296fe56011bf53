#pragma once

// A launch while it runs: what its thread blocks have in common.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/ptx/checks/race_checker.h"
#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/machine/device_memory.h"
#include "verify/ptx/machine/launch_options.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

// Where an operand's accesses mostly are, once one was there: in shared memory of the own thread
// block, or in one buffer.
struct UsualPlace {
  AddressRange range = {};
  std::uint32_t bytes = 0;  // of the accesses; 0: unknown
  bool is_shared = false;
  bool is_recorded = false;
};

struct LaunchRun {
  // `parameters` holds all parameters of the program. The program, its sources and the options
  // outlive the run.
  LaunchRun(const Program& program, const text::Sources& sources, const LaunchShape& shape,
            const LaunchOptions& options);

  // The caller's buffers and the module's variables.
  void set_memory(const DeviceMemory& buffers, const DeviceMemory& variables);
  void set_arguments(std::span<const std::byte> bytes);

  // Keeps the finding, unless it is known or there are enough.
  void report(Finding finding);
  CodePlace code_place(std::uint32_t place) const;

  const Program& program;
  const text::Sources& sources;
  const LaunchShape& shape;
  const LaunchOptions& options;
  DeviceMemory memory = {};
  std::vector<std::byte> arguments = {};  // 8 bytes more than the parameters have
  std::vector<std::byte> image;           // registers of a warp, with the launch's constants
  std::vector<UsualPlace> usual_places;   // by site
  std::optional<GridChecker> checker = {};
  std::uint32_t num_streams = 0;  // of asynchronous operations
  std::uint64_t progress = 0;     // grows with what ends waits
  LaunchReport outcome = {};
  std::array<std::uint32_t, 64> grid_workspace = {};  // of cooperative groups' grid barrier
};

}  // namespace recto::ptx
