#pragma once

// A bounded set of keys that evicts the least recently touched one.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

namespace recto::sim {

// Memory O(min(capacity, distinct keys)).
class LruSet {
 public:
  explicit LruSet(std::size_t capacity) : capacity_(capacity) {}

  bool contains(std::uint64_t key) const { return places_.contains(key); }
  std::size_t size() const { return places_.size(); }

  // Makes `key` the newest, inserting it if it is absent; an insertion beyond the capacity evicts
  // the oldest. Amortised O(1).
  void touch(std::uint64_t key);

 private:
  using Place = std::uint32_t;

  // A ring of keys from newest to oldest.
  struct Node {
    std::uint64_t key;
    Place newer;
    Place older;
  };

  Place take_place();
  void unlink(Place place);
  void link_newest(Place place);

  std::size_t capacity_;
  absl::flat_hash_map<std::uint64_t, Place> places_;
  std::vector<Node> nodes_;
  Place newest_ = 0;  // meaningful once nodes_ is not empty
};

}  // namespace recto::sim
