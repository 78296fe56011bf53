#include "sim/traces/lru_set.h"

namespace recto::sim {

void LruSet::touch(std::uint64_t key) {
  if (capacity_ == 0) return;
  const auto found = places_.find(key);
  Place place = 0;
  if (found != places_.end()) {
    place = found->second;
    if (place == newest_) return;
    unlink(place);
  } else {
    place = take_place();
    nodes_[place].key = key;
    places_.emplace(key, place);
  }
  link_newest(place);
}

// A place that no key holds: a new one, or the oldest key's.
LruSet::Place LruSet::take_place() {
  if (nodes_.size() < capacity_) {
    nodes_.push_back({});
    return static_cast<Place>(nodes_.size() - 1);
  }
  const Place oldest = nodes_[newest_].newer;
  places_.erase(nodes_[oldest].key);
  unlink(oldest);
  return oldest;
}

void LruSet::unlink(Place place) {
  const Node& node = nodes_[place];
  nodes_[node.newer].older = node.older;
  nodes_[node.older].newer = node.newer;
  if (place == newest_) newest_ = node.older;
}

void LruSet::link_newest(Place place) {
  Node& node = nodes_[place];
  if (places_.size() == 1) {
    node.newer = node.older = place;
  } else {
    // The ring closes: what is "newer" than the newest is the oldest.
    const Place oldest = nodes_[newest_].newer;
    node.older = newest_;
    node.newer = oldest;
    nodes_[newest_].newer = place;
    nodes_[oldest].older = place;
  }
  newest_ = place;
}

}  // namespace recto::sim
