#include "verify/block_manager/testing/small_scope.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "core/contract.h"
#include "verify/block_manager/testing/canonical_state.h"

namespace recto::verify {
namespace {

using cache::testing::CacheCommand;
using cache::testing::CacheWalk;
using cache::testing::CommandKind;

// Each prompt is a text of its own.
constexpr std::int64_t kRememberedMax = 1;

// Collects the commands of the kinds in a scope.
class Commands {
 public:
  Commands(const CacheWalk& walk, const SmallScope& scope) : walk_(walk), scope_(scope) {}

  std::vector<CacheCommand> all() {
    for (CacheCommand prompt : scope_.prompts) {
      prompt.kind = CommandKind::kAdmit;
      found_.push_back(prompt);
      prompt.kind = CommandKind::kPin;
      prompt.extra = 0;
      add(prompt);
    }
    const auto running = num_in(cache::SequenceState::kRunning);
    for (std::int32_t who = 0; who < running; ++who) add_of_running(who);
    if (running > 0) add_of_all(running);
    add_of_waiting();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(walk_.moving().size()); ++i) {
      add({.kind = CommandKind::kComplete, .who = i});
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(walk_.pins().size()); ++i) {
      add({.kind = CommandKind::kUnpin, .who = i});
    }
    add({.kind = CommandKind::kReset});
    return std::move(found_);
  }

 private:
  void add(const CacheCommand& command) {
    const bool is_wanted = std::ranges::find(scope_.kinds, command.kind) != scope_.kinds.end();
    const bool is_known = std::ranges::find(found_, command) != found_.end();
    if (is_wanted && !is_known) found_.push_back(command);
  }

  std::int32_t num_in(cache::SequenceState state) const {
    return static_cast<std::int32_t>(walk_.all_in(state).size());
  }

  void add_of_running(std::int32_t who) {
    using enum CommandKind;
    for (std::int32_t token = 0; token < scope_.alphabet; ++token) {
      add({.kind = kAppend, .who = who, .count = 1, .token = token});
    }
    add({.kind = kAppend, .who = who, .count = 2});
    for (std::int32_t more = 1; more <= scope_.lookahead_max; ++more) {
      add({.kind = kReserve, .who = who, .count = more});
    }
    for (const CommandKind kind : {kCommit, kFork, kRelease, kPreempt}) {
      add({.kind = kind, .who = who});
    }
    add({.kind = kSwapOut, .who = 1 << who});
    for (std::int32_t length = 0; length <= context_of(who); ++length) {
      add({.kind = kTruncate, .who = who, .length = length});
    }
  }

  // Commands on several running sequences at once: batched appends with equal and different tokens
  // in both orders, swaps of sets, and all beam steps.
  void add_of_all(std::int32_t running) {
    using enum CommandKind;
    const std::int32_t all = (1 << running) - 1;
    for (std::int32_t set = 1; set <= all; ++set) {
      if ((set & (set - 1)) == 0) continue;  // one alone
      for (const std::int32_t token : {0, 2}) {
        add({.kind = kAppendBatch, .who = set, .token = token});
        add({.kind = kAppendBatch, .who = set + cache::testing::kReversed, .token = token});
      }
      add({.kind = kSwapOut, .who = set});
    }
    for (std::int32_t count = 0; count <= running + 1; ++count) {
      std::int32_t patterns = 1;
      for (std::int32_t i = 0; i < count; ++i) patterns *= running;
      for (std::int32_t token = 0; token < patterns; ++token) {
        add({.kind = kBeamStep, .who = all, .count = count, .token = token});
      }
    }
  }

  void add_of_waiting() {
    using enum CommandKind;
    for (std::int32_t who = 0; who < num_in(cache::SequenceState::kPreempted); ++who) {
      add({.kind = kResume, .who = who, .length = 64});
    }
    const std::int32_t swapped = num_in(cache::SequenceState::kSwapped);
    for (std::int32_t set = 1; set < 1 << swapped; ++set) {
      for (std::int32_t lookahead = 0; lookahead <= scope_.lookahead_max; ++lookahead) {
        add({.kind = kSwapIn, .who = set, .count = lookahead});
      }
    }
    std::int32_t place = 0;
    for (const CacheWalk::Actor& actor : walk_.actors()) {
      const std::int32_t who = cache::testing::kAnyState + place++;
      const bool is_running = walk_.state_of(actor) == cache::SequenceState::kRunning;
      if (!is_running) add({.kind = kRelease, .who = who});
    }
  }

  // The context length of the running sequence number `who`.
  std::int32_t context_of(std::int32_t who) const {
    const cache::SequenceHandle handle =
        walk_.all_in(cache::SequenceState::kRunning)[static_cast<std::size_t>(who)];
    const TokenCount context = walk_.manager().view(handle).value().context_length;
    return static_cast<std::int32_t>(context.value());
  }

  const CacheWalk& walk_;
  const SmallScope& scope_;
  std::vector<CacheCommand> found_;
};

// How the search first reached a state.
struct Step {
  std::int32_t from = -1;
  int depth = 0;
  CacheCommand command = {};
};

class Exploration {
 public:
  explicit Exploration(const SmallScope& scope) : scope_(scope) {}

  ScopeReport run() {
    steps_.push_back({});
    seen_.insert(canonical_state(*arrive(0)));
    std::size_t at = 0;
    for (; at < steps_.size() && steps_[at].depth < scope_.depth; ++at) {
      expand(static_cast<std::int32_t>(at));
    }
    return {.states = std::ssize(steps_),
            .transitions = transitions_,
            .depth = steps_.back().depth,
            .is_closed = at == steps_.size()};
  }

 private:
  std::vector<CacheCommand> path(std::int32_t state) const {
    std::vector<CacheCommand> commands;
    for (; state > 0; state = steps_[static_cast<std::size_t>(state)].from) {
      commands.push_back(steps_[static_cast<std::size_t>(state)].command);
    }
    std::ranges::reverse(commands);
    return commands;
  }

  std::unique_ptr<Lockstep> arrive(std::int32_t state) {
    auto lockstep =
        std::make_unique<Lockstep>(scope_.options, scope_.alphabet, coverage_, kRememberedMax);
    for (const CacheCommand& command : path(state)) lockstep->replay(command);
    return lockstep;
  }

  void expand(std::int32_t state) {
    std::unique_ptr<Lockstep> lockstep = arrive(state);
    const std::string here = canonical_state(*lockstep);
    for (const CacheCommand& command : Commands(lockstep->walk(), scope_).all()) {
      if (lockstep == nullptr) lockstep = arrive(state);
      attempt(*lockstep, state, command);
      ++transitions_;
      std::string there = canonical_state(*lockstep);
      if (there == here) continue;
      lockstep.reset();
      if (!seen_.insert(std::move(there)).second) continue;
      const int depth = steps_[static_cast<std::size_t>(state)].depth + 1;
      steps_.push_back({.from = state, .depth = depth, .command = command});
    }
  }

  // After a failure, runs the commands from the start again, with their log.
  void attempt(Lockstep& lockstep, std::int32_t state, const CacheCommand& command) {
    try {
      lockstep.run(command);
    } catch (const ContractFailure& failure) {
      Lockstep again(scope_.options, scope_.alphabet, coverage_, kRememberedMax);
      try {
        for (const CacheCommand& step : path(state)) again.run(step);
        again.run(command);
      } catch (const ContractFailure&) {
        throw ContractFailure(std::string(failure.what()) + "\nafter" + again.walk().log());
      }
      throw ContractFailure(std::string(failure.what()) +
                            "\nwhere commands that were refused came before, after" +
                            again.walk().log());
    }
  }

  const SmallScope& scope_;
  cache::testing::Coverage coverage_;
  std::vector<Step> steps_;  // one per state; the first state has none
  std::unordered_set<std::string> seen_;
  std::int64_t transitions_ = 0;
};

}  // namespace

ScopeReport explore(const SmallScope& scope) { return Exploration(scope).run(); }

std::ostream& operator<<(std::ostream& out, const ScopeReport& report) {
  out << report.states << " states, " << report.transitions << " transitions, depth "
      << report.depth;
  return out << (report.is_closed ? ", closed" : "");
}

}  // namespace recto::verify
