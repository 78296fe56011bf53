#include "verify/simt/streams/host_runtime.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/contract.h"

namespace recto::simt {

HostRuntime::HostRuntime(Executor& executor, HostOptions options)
    : executor_(executor), options_(options), random_(options.seed) {}

const DeviceMemory* HostRuntime::memory() const {
  const Observer* observer = executor_.observer();
  return options_.memory != nullptr || observer == nullptr ? options_.memory : observer->memory();
}

OperationId HostRuntime::enqueue(std::vector<OperationId> after, DeviceWork work) {
  if (options_.checks_dependencies) dependencies_.add(after, {work.name, work.site});
  operations_.push_back({std::move(after), std::move(work)});
  const OperationId operation = operations_.size();
  if (options_.order == HostOrder::kEager) {
    run_all(needed_for(operation));
  } else if (options_.order == HostOrder::kRandom && random_.next_below(2) == 0) {
    // The device catches up with part of the host program.
    run_all(needed_for(first_unfinished_ + random_.next_below(operation - first_unfinished_ + 1)));
  }
  return operation;
}

void HostRuntime::finish(OperationId operation) {
  run_all(needed_for(operation));
  if (options_.checks_dependencies) dependencies_.wait_for(operation);
}

void HostRuntime::finish_all() {
  std::vector<OperationId> all;
  for (OperationId id = first_unfinished_; id <= operations_.size(); ++id) {
    if (!is_finished(id)) all.push_back(id);
  }
  run_all(std::move(all));
  if (options_.checks_dependencies) dependencies_.wait_for_all();
}

bool HostRuntime::has_passed(OperationId operation) {
  if (is_finished(operation)) {
    if (options_.checks_dependencies) dependencies_.wait_for(operation);
    return true;
  }
  // CUDA makes progress even if the host never waits.
  if (options_.order != HostOrder::kRandom || random_.next_below(2) == 0) {
    run_all(needed_for(operation));
  }
  return false;
}

void HostRuntime::run_all(std::vector<OperationId> operations) {
  while (!operations.empty()) {
    run(pick(operations));
    std::erase_if(operations, [this](OperationId id) { return is_finished(id); });
  }
}

bool HostRuntime::may_run(const Operation& operation) const {
  return std::ranges::all_of(operation.after, [this](OperationId id) { return is_finished(id); });
}

void HostRuntime::run(OperationId id) {
  // The operation may enqueue others, which reallocates the list.
  const DeviceWork work = std::move(operations_[id - 1].work);
  const std::vector<TouchedRange> touched = work.run();
  operations_[id - 1] = {.is_done = true};
  while (first_unfinished_ <= operations_.size() && is_finished(first_unfinished_)) {
    ++first_unfinished_;
  }
  if (!options_.checks_dependencies) return;
  std::ranges::move(dependencies_.note(id, touched, memory()),
                    std::back_inserter(report_.findings));
}

std::vector<OperationId> HostRuntime::needed_for(OperationId operation) const {
  std::vector<OperationId> needed;
  std::vector<OperationId> to_visit = {operation};
  while (!to_visit.empty()) {
    const OperationId id = to_visit.back();
    to_visit.pop_back();
    if (is_finished(id) || std::ranges::find(needed, id) != needed.end()) continue;
    needed.push_back(id);
    const std::vector<OperationId>& after = operations_[id - 1].after;
    to_visit.insert(to_visit.end(), after.begin(), after.end());
  }
  std::ranges::sort(needed);
  return needed;
}

// An operation of `from` that may run. There is always one, because dependencies have no cycles.
OperationId HostRuntime::pick(const std::vector<OperationId>& from) {
  std::vector<OperationId> ready;
  std::ranges::copy_if(from, std::back_inserter(ready),
                       [this](OperationId id) { return may_run(operations_[id - 1]); });
  RECTO_CHECK(!ready.empty());
  switch (options_.order) {
    case HostOrder::kEager:
      return ready.front();
    case HostOrder::kLate:
      return ready.back();
    case HostOrder::kRandom:
      return ready[random_.next_below(ready.size())];
  }
  RECTO_UNREACHABLE("all orders are listed");
}

}  // namespace recto::simt
