#include "verify/simt/streams/dependency_check.h"

#include <fmt/format.h>

#include <utility>

#include "verify/simt/executor/device_memory.h"

namespace recto::simt {
namespace {

std::string describe(std::uintptr_t address, const DeviceMemory* memory) {
  if (memory != nullptr && memory->find(address) != nullptr) return memory->describe(address);
  return fmt::format("memory at {:#x}", address);
}

}  // namespace

void DependencyCheck::add(std::span<const OperationId> after, Asked what) {
  order_.add(after);
  asked_.push_back(std::move(what));
}

void DependencyCheck::wait_for(OperationId operation) {
  order_.wait_for(operation);
  if (order_.has_waited_for_all()) history_.clear();
}

void DependencyCheck::wait_for_all() {
  order_.wait_for_all();
  history_.clear();
}

std::vector<Finding> DependencyCheck::note(OperationId operation,
                                           std::span<const TouchedRange> touched,
                                           const DeviceMemory* memory) {
  std::vector<Finding> findings;
  for (const UnorderedAccess& access : history_.note(operation, touched)) {
    if (!is_news(operation, access, memory)) continue;
    findings.push_back(finding_of(operation, access, memory));
  }
  return findings;
}

bool DependencyCheck::is_news(OperationId operation, const UnorderedAccess& access,
                              const DeviceMemory* memory) {
  if (told_.size() == kFindingsMax) return false;
  const Buffer* buffer = memory == nullptr ? nullptr : memory->find(access.range.begin);
  const std::string place = buffer == nullptr ? describe(access.range.begin, memory) : buffer->name;
  // The same two operations in the opposite order count as the same finding.
  std::string one =
      fmt::format("{} {}", asked_[operation - 1].name, access_verb(access.range.kind));
  std::string other =
      fmt::format("{} {}", asked_[access.operation - 1].name, access_verb(access.kind));
  if (other < one) std::swap(one, other);
  return told_.insert(fmt::format("{}, {}: {}", one, other, place)).second;
}

Finding DependencyCheck::finding_of(OperationId operation, const UnorderedAccess& access,
                                    const DeviceMemory* memory) const {
  struct Party {
    OperationId operation;
    AccessKind kind;
  };
  Party first = {access.operation, access.kind};
  Party second = {operation, access.range.kind};
  // In the order of the host program, whatever the order in the runtime.
  if (second.operation < first.operation) std::swap(first, second);
  const auto text_of = [this](const Party& party) {
    return fmt::format("{} (operation {}) {}", asked_[party.operation - 1].name, party.operation,
                       access_verb(party.kind));
  };
  Finding finding;
  finding.check = Check::kMissingDependency;
  finding.place.site = asked_[first.operation - 1].site;
  finding.other_place.site = asked_[second.operation - 1].site;
  finding.what = access_text(text_of(first).c_str(), access.range.end - access.range.begin,
                             describe(access.range.begin, memory));
  finding.other_what =
      fmt::format("{} the same bytes, and no stream, event, graph or host wait orders the two",
                  text_of(second));
  return finding;
}

}  // namespace recto::simt
