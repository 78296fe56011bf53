#pragma once

// Maps the model's blocks to physical blocks. A pair is learnt when tables are compared, and must
// hold from then on, in both directions, for as long as the model's block lives.

#include <cstdint>
#include <map>
#include <optional>

#include "core/contract.h"
#include "core/units.h"
#include "verify/models/block_manager_model.h"

namespace recto::verify {

class BlockNames {
 public:
  // A broken contract if the name stands for another block, or the block has another name.
  void bind(BlockName name, BlockId block) {
    const auto [to, is_new_name] = blocks_.try_emplace(name, block);
    RECTO_CHECK_EQ(to->second, block);
    const auto [from, is_new_block] = names_.try_emplace(block, name);
    RECTO_CHECK_EQ(from->second, name);
  }

  // Forgets names for which `is_live(name)` is false.
  template <typename IsLive>
  void keep(const IsLive& is_live) {
    std::erase_if(blocks_, [&](const auto& entry) { return !is_live(entry.first); });
    std::erase_if(names_, [&](const auto& entry) { return !is_live(entry.second); });
  }

  std::optional<BlockId> block(BlockName name) const {
    const auto found = blocks_.find(name);
    return found == blocks_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<BlockName> name(BlockId block) const {
    const auto found = names_.find(block);
    return found == names_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<BlockName, BlockId> blocks_;
  std::map<BlockId, BlockName> names_;
};

}  // namespace recto::verify
