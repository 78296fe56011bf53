#include "verify/ptx/machine/launch_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace recto::ptx {

LaunchRun::LaunchRun(const Program& launched, const text::Sources& from,
                     const LaunchShape& with_shape, const LaunchOptions& with)
    : program(launched),
      sources(from),
      shape(with_shape),
      options(with),
      image(launched.image),
      usual_places(launched.num_sites) {
  grid_workspace[0] = sizeof(grid_workspace);
}

void LaunchRun::set_memory(const DeviceMemory& buffers, const DeviceMemory& variables) {
  memory = buffers;
  for (const Buffer& variable : variables.buffers()) memory.add(variable);
  memory.add("grid workspace", grid_workspace.data(), sizeof(grid_workspace));
  if (!options.checks.records_accesses()) return;
  checker.emplace();
  for (const Buffer& buffer : memory.buffers()) {
    if (buffer.access == BufferAccess::kReadOnly || buffer.bytes == 0) continue;
    if (buffer.blocks_communicate) continue;
    checker->add(
        buffer.begin, buffer.bytes,
        buffer.access == BufferAccess::kWriteFirst ? Contents::kNothing : Contents::kGiven);
  }
}

void LaunchRun::set_arguments(std::span<const std::byte> bytes) {
  arguments.assign(bytes.begin(), bytes.end());
  arguments.resize(arguments.size() + sizeof(std::uint64_t));
  for (const ArgumentRow& argument : program.arguments) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments.data() + argument.offset, argument.bytes);
    if (argument.is_signed && argument.bytes < 8) {
      const unsigned unused = 64 - 8 * argument.bytes;
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      std::memcpy(image.data() + argument.place + lane * argument.width, &value, argument.width);
    }
  }
}

void LaunchRun::report(Finding finding) {
  if (options.allows_equal_stores && finding.is_of_one_store()) return;
  if (outcome.findings.size() >= options.findings_max) return;
  const bool is_known =
      std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const Finding& known) {
        return known.check == finding.check && known.place == finding.place &&
               known.other_place == finding.other_place;
      });
  if (!is_known) outcome.findings.push_back(std::move(finding));
}

CodePlace LaunchRun::code_place(std::uint32_t place) const {
  const text::Place& at = program.places[place];
  return {sources.file(at.file), at.line, sources.calls_text(at), at.ptx_line,
          program.instructions[place]};
}

std::string LaunchReport::text() const {
  std::string text;
  for (const Finding& finding : findings) text += finding.text() + "\n";
  return text;
}

}  // namespace recto::ptx
