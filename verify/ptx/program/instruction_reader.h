#pragma once

// Takes the modifiers of an instruction one by one, so that none is overlooked.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"
#include "verify/ptx/program/program.h"
#include "verify/ptx/text/syntax_tree.h"

namespace recto::ptx {

class InstructionReader {
 public:
  // From its first modifier on. The instruction outlives the reader.
  void read(const text::Instruction& instruction) {
    modifiers_ = instruction.modifiers;
    next_ = 0;
  }

  bool has_more() const { return next_ < modifiers_.size(); }
  std::string_view peek() const {
    return has_more() ? std::string_view(modifiers_[next_]) : std::string_view();
  }
  bool take(std::string_view modifier) {
    if (peek() != modifier) return false;
    ++next_;
    return true;
  }
  // Takes any number of these, which do not matter here.
  void skip(std::initializer_list<std::string_view> modifiers) {
    bool found = true;
    while (found) {
      found = false;
      for (const std::string_view modifier : modifiers) found |= has_more() && take(modifier);
    }
  }
  void skip_hints() {  // for caches
    skip({"ca",
          "cg",
          "cs",
          "lu",
          "cv",
          "wb",
          "wt",
          "nc",
          "L1::evict_normal",
          "L1::evict_unchanged",
          "L1::evict_first",
          "L1::evict_last",
          "L1::no_allocate",
          "L2::64B",
          "L2::128B",
          "L2::256B",
          "L2::cache_hint",
          "L2::evict_last",
          "L2::evict_first",
          "L2::evict_normal"});
  }
  std::optional<ScalarType> take_type() {
    const std::optional<ScalarType> type = scalar_type(peek());
    if (type) ++next_;
    return type;
  }
  std::optional<MemorySpace> take_space() {
    return take_one_of<MemorySpace>({{"global", MemorySpace::kGlobal},
                                     {"shared", MemorySpace::kShared},
                                     {"shared::cta", MemorySpace::kShared},
                                     {"shared::cluster", MemorySpace::kSharedCluster},
                                     {"local", MemorySpace::kLocal},
                                     {"param", MemorySpace::kParam},
                                     {"param::entry", MemorySpace::kParam},
                                     {"param::func", MemorySpace::kParam},
                                     {"const", MemorySpace::kConst}});
  }
  template <typename T>
  std::optional<T> take_one_of(std::initializer_list<std::pair<std::string_view, T>> modifiers) {
    for (const auto& [name, value] : modifiers) {
      if (has_more() && take(name)) return value;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::string> modifiers_ = {};
  std::size_t next_ = 0;
};

}  // namespace recto::ptx
