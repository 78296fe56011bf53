#include "verify/models/event_mirror.h"

#include <algorithm>

namespace recto::verify {

void EventMirror::on_stored(const cache::StoredBlock& stored) {
  const Stored copy{.hash = stored.hash,
                    .parent_hash = stored.parent_hash,
                    .tokens = {stored.tokens.begin(), stored.tokens.end()},
                    .words = {stored.extra_words.begin(), stored.extra_words.end()}};
  const auto is_block = [&stored](const auto& entry) { return entry.first.second == stored.block; };
  if (fault_.empty() && std::ranges::any_of(stored_, is_block)) {
    fault_ = "a block was stored that has content already";
  }
  stored_[{stored.group, stored.block}] = copy;
}

void EventMirror::on_removed(const cache::RemovedBlock& removed) {
  const auto found = stored_.find({removed.group, removed.block});
  if (found == stored_.end() || found->second.hash != removed.hash) {
    if (fault_.empty()) fault_ = "a block was removed that was not stored";
    return;
  }
  stored_.erase(found);
}

void EventMirror::on_cleared() {
  stored_.clear();
  ++num_cleared_;
}

}  // namespace recto::verify
