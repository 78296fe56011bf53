#pragma once

// The differential test of the block manager. A random engine (CacheWalk) gives commands to the
// manager, and each of its calls also goes to the model. After every command, answers, counts,
// statistics, tables (blocks up to renaming), findable content and eviction order must be equal. A
// difference breaks a contract, which throws in tests.
//
//   Coverage coverage;
//   Lockstep lockstep(options, 2, coverage);
//   lockstep.run({.kind = CommandKind::kAdmit, .count = 3});

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/contract.h"
#include "core/units.h"
#include "cuda/cache/testing/cache_command.h"
#include "cuda/cache/testing/cache_walk.h"
#include "cuda/cache/testing/coverage.h"
#include "verify/block_manager/testing/block_manager_model.h"

namespace recto::verify {

// Maps the model's block names to physical blocks. A pair is recorded when tables are compared. It
// must then hold in both directions for as long as the model's block lives.
class BlockNames {
 public:
  // Breaks a contract if the name stands for another block, or the block has another name.
  void bind(BlockId name, BlockId block) {
    RECTO_CHECK_EQ(blocks_.try_emplace(name, block).first->second, block);
    RECTO_CHECK_EQ(names_.try_emplace(block, name).first->second, name);
  }
  // Forgets names for which `is_live(name)` is false.
  template <typename IsLive>
  void keep(const IsLive& is_live) {
    std::erase_if(blocks_, [&](const auto& entry) { return !is_live(entry.first); });
    std::erase_if(names_, [&](const auto& entry) { return !is_live(entry.second); });
  }
  bool contains(BlockId name) const { return blocks_.contains(name); }
  // Breaks a contract if the name was never bound.
  BlockId block(BlockId name) const {
    RECTO_CHECK(contains(name));
    return blocks_.at(name);
  }

 private:
  std::map<BlockId, BlockId> blocks_;
  std::map<BlockId, BlockId> names_;
};

class Lockstep {
 public:
  Lockstep(const cache::CacheOptions& options, std::int32_t alphabet,
           cache::testing::Coverage& coverage, std::int64_t remembered_max = 8)
      : coverage_(coverage), model_(options), walk_(options, alphabet, coverage, remembered_max) {}

  void run(const cache::testing::CacheCommand& command);
  // Runs the command on both sides, and compares only the answers. Used to return to an earlier
  // state.
  void replay(const cache::testing::CacheCommand& command);

  const cache::testing::CacheWalk& walk() const { return walk_; }
  const BlockManagerModel& model() const { return model_; }
  // The model's handle of a sequence of the manager.
  cache::SequenceHandle name_of(cache::SequenceHandle handle) const {
    return {.index = sequences_.at(handle.index)};
  }
  const BlockNames& device_blocks() const { return device_blocks_; }

 private:
  using Names = std::map<std::int32_t, std::int32_t>;  // the manager's index -> the model's index

  // Runs the call on the model, and compares both answers. `same` is the call with the model's
  // names. Returns the model's answer.
  cache::testing::CacheAnswer follow(const cache::testing::CacheCall& call,
                                     const cache::testing::CacheCall& same,
                                     const cache::testing::CacheAnswer& answer);
  cache::testing::CacheCall renamed(cache::testing::CacheCall call) const;
  void bind_tables();
  void compare_copies(const cache::testing::CacheAnswer& answer,
                      const cache::testing::CacheAnswer& expected) const;
  void compare();
  void compare_statistics();
  void compare_index() const;
  void compare_lookups();

  // Counts coverage events from the model before and after the call. `call` has the model's names.
  void count_events(const BlockManagerModel& before, const cache::testing::CacheCall& call,
                    const cache::testing::CacheAnswer& answer);
  void count_changes(const BlockManagerModel& before);
  void count_hits(const BlockManagerModel& before, cache::SequenceHandle name,
                  const cache::testing::CacheText& text);
  void count_copies(const BlockManagerModel& before, const std::vector<cache::BlockCopy>& copies);
  void count_written(const BlockManagerModel& before);
  void count_truncation(const ModelSequence& before, const ModelSequence& after);
  void count_swap(const cache::testing::CacheCall& call,
                  const std::vector<cache::SwapCopy>& copies);
  void count_pin(const BlockManagerModel& before, const TextChain& chain);
  void count_reset(const BlockManagerModel& before);
  // Counts the event if `times` is not 0.
  void count_if(std::int64_t times, std::string_view event) { coverage_.count(event, times); }

  const cache::CacheOptions& options() const { return model_.options(); }
  std::int64_t block_size() const { return options().block_size.value(); }
  std::int32_t num_groups() const { return static_cast<std::int32_t>(options().groups.size()); }

  cache::testing::Coverage& coverage_;
  BlockManagerModel model_;
  cache::testing::CacheWalk walk_;
  Names sequences_;
  Names transfers_;
  Names pins_;
  BlockNames device_blocks_;
  BlockNames host_blocks_;
  std::int64_t collisions_ = 0;
};

}  // namespace recto::verify
