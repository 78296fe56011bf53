#include "verify/simt/streams/host_runtime.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/contract.h"

namespace recto::simt {

HostRuntime::HostRuntime(Executor& executor, HostOptions options)
    : executor_(executor), options_(options), random_(options.seed) {}

OperationId HostRuntime::enqueue(std::vector<OperationId> after, std::function<void()> run) {
  operations_.push_back({std::move(after), std::move(run)});
  const OperationId operation = operations_.size();
  if (options_.order == HostOrder::kEager) {
    finish(operation);
  } else if (options_.order == HostOrder::kRandom && random_.next_below(2) == 0) {
    // The device catches up with some of the host's program.
    finish(first_unfinished_ + random_.next_below(operation - first_unfinished_ + 1));
  }
  return operation;
}

void HostRuntime::finish(OperationId operation) {
  std::vector<OperationId> needed = needed_for(operation);
  while (!needed.empty()) {
    run(pick(needed));
    std::erase_if(needed, [this](OperationId id) { return is_finished(id); });
  }
}

void HostRuntime::finish_all() {
  std::vector<OperationId> all;
  for (OperationId id = first_unfinished_; id <= operations_.size(); ++id) {
    if (!is_finished(id)) all.push_back(id);
  }
  while (!all.empty()) {
    run(pick(all));
    std::erase_if(all, [this](OperationId id) { return is_finished(id); });
  }
}

bool HostRuntime::may_run(const Operation& operation) const {
  return std::ranges::all_of(operation.after, [this](OperationId id) { return is_finished(id); });
}

void HostRuntime::run(OperationId id) {
  // The operation may ask for others, which moves the list.
  const std::function<void()> work = std::move(operations_[id - 1].run);
  work();
  operations_[id - 1] = {.is_done = true};
  while (first_unfinished_ <= operations_.size() && is_finished(first_unfinished_)) {
    ++first_unfinished_;
  }
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

// One of `from` that may run. There is one: nothing comes after itself.
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
