#include "verify/simt/streams/dependency_check.h"

#include <fmt/format.h>

#include <utility>

#include "verify/simt/memory/device_memory.h"

namespace recto::simt {

void DependencyCheck::add(std::span<const OperationId> after, std::string name) {
  order_.add(after);
  names_.push_back(std::move(name));
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
                                           std::span<const TouchedRange> touched) {
  std::vector<Finding> findings;
  for (const UnorderedAccess& access : history_.note(operation, touched)) {
    if (is_news(operation, access)) findings.push_back(finding_of(operation, access));
  }
  return findings;
}

bool DependencyCheck::is_news(OperationId operation, const UnorderedAccess& access) {
  if (told_.size() == kFindingsMax) return false;
  const Buffer* buffer = memory_ == nullptr ? nullptr : memory_->find(access.range.begin);
  const std::string place = buffer == nullptr ? place_text(access.range.begin) : buffer->name;
  // The same two the other way round are the same.
  std::string one = fmt::format("{} {}", names_[operation - 1], access_verb(access.range.kind));
  std::string other = fmt::format("{} {}", names_[access.operation - 1], access_verb(access.kind));
  if (other < one) std::swap(one, other);
  return told_.insert(fmt::format("{}, {}: {}", one, other, place)).second;
}

Finding DependencyCheck::finding_of(OperationId operation, const UnorderedAccess& access) const {
  struct Party {
    OperationId operation;
    AccessKind kind;
  };
  Party first = {access.operation, access.kind};
  Party second = {operation, access.range.kind};
  // In the order of the host program, whatever the runtime's.
  if (second.operation < first.operation) std::swap(first, second);
  const auto text_of = [this](const Party& party) {
    return fmt::format("{} (operation {}) {}", names_[party.operation - 1], party.operation,
                       access_verb(party.kind));
  };
  const std::uintptr_t bytes = access.range.end - access.range.begin;
  Finding finding;
  finding.check = Check::kMissingDependency;
  finding.what = fmt::format("{} {} byte{} of {}", text_of(first), bytes, bytes == 1 ? "" : "s",
                             place_text(access.range.begin));
  finding.other_what =
      fmt::format("{} the same, and no stream, event, graph or wait of the host orders the two",
                  text_of(second));
  return finding;
}

std::string DependencyCheck::place_text(std::uintptr_t address) const {
  if (memory_ != nullptr && memory_->find(address) != nullptr) return memory_->describe(address);
  return fmt::format("memory at {:#x}", address);
}

}  // namespace recto::simt
