#pragma once

// The running groups in order of arrival: a linked list threaded through a table, so that a group
// leaves any position in O(1), and joins in O(1) if it is the latest, as nearly all are.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/contract.h"
#include "sim/scheduling/sequence_group.h"

namespace recto::sim {

class RunningList {
 public:
  class Iterator {
   public:
    Iterator(const RunningList& list, GroupIndex at) : list_(&list), at_(at) {}
    GroupIndex operator*() const { return at_; }
    Iterator& operator++() {
      at_ = list_->node(at_).next;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const RunningList* list_;
    GroupIndex at_;
  };

  bool empty() const { return count_ == 0; }
  std::int64_t size() const { return count_; }
  // The earliest and the latest arrival. The list must not be empty.
  GroupIndex front() const { return first_; }
  GroupIndex back() const { return last_; }
  Iterator begin() const { return {*this, first_}; }
  Iterator end() const { return {*this, kNone}; }

  // O(groups that arrived later).
  void insert(GroupIndex index, std::int64_t request_id) {
    const auto position = static_cast<std::size_t>(index);
    if (position >= nodes_.size()) nodes_.resize(position + 1);
    GroupIndex previous = last_;
    while (previous != kNone && node(previous).request_id > request_id) {
      previous = node(previous).previous;
    }
    const GroupIndex next = previous == kNone ? first_ : node(previous).next;
    nodes_[position] = {.request_id = request_id, .previous = previous, .next = next};
    (previous == kNone ? first_ : node(previous).next) = index;
    (next == kNone ? last_ : node(next).previous) = index;
    ++count_;
  }

  void remove(GroupIndex index) {
    const Node& gone = node(index);
    (gone.previous == kNone ? first_ : node(gone.previous).next) = gone.next;
    (gone.next == kNone ? last_ : node(gone.next).previous) = gone.previous;
    --count_;
    RECTO_CHECK_GE(count_, 0);
  }

 private:
  static constexpr GroupIndex kNone = -1;

  struct Node {
    std::int64_t request_id = 0;
    GroupIndex previous = kNone;
    GroupIndex next = kNone;
  };

  Node& node(GroupIndex index) { return nodes_[static_cast<std::size_t>(index)]; }
  const Node& node(GroupIndex index) const { return nodes_[static_cast<std::size_t>(index)]; }

  std::vector<Node> nodes_;  // by GroupIndex
  GroupIndex first_ = kNone;
  GroupIndex last_ = kNone;
  std::int64_t count_ = 0;
};

}  // namespace recto::sim
