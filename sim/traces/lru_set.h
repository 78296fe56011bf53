#pragma once

// A set of keys that forgets the one that was touched longest ago.

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

  // Makes `key` the newest, putting it in if need be; the oldest then gives way. O(1) amortised.
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
