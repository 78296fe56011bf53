#pragma once

// Strong types for quantities that could be confused. Counts add, subtract and scale; ids and
// instants move only by their own count or duration type; nothing mixes by accident.

#include <cstdint>
#include <ostream>
#include <utility>

namespace recto {

// An amount of something: closed under addition, scaled by plain integers.
template <typename Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t value) : value_(value) {}

  constexpr std::int64_t value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t times) {
    return Quantity(a.value_ * times);
  }
  friend constexpr Quantity operator*(std::int64_t times, Quantity a) { return a * times; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend std::ostream& operator<<(std::ostream& out, Quantity a) { return out << a.value_; }

 private:
  std::int64_t value_ = 0;
};

// A position in a sequence of like things: an id, or an instant. `Distance` is the type of the
// difference of two.
template <typename Tag, typename Distance, typename Rep = std::int64_t>
class Ordinal {
 public:
  constexpr Ordinal() = default;
  constexpr explicit Ordinal(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }

  constexpr Ordinal& operator+=(Distance distance) {
    value_ += static_cast<Rep>(distance.value());
    return *this;
  }

  friend constexpr Ordinal operator+(Ordinal a, Distance distance) { return a += distance; }
  friend constexpr Ordinal operator-(Ordinal a, Distance distance) {
    return Ordinal(static_cast<Rep>(a.value_ - distance.value()));
  }
  friend constexpr Distance operator-(Ordinal a, Ordinal b) {
    return Distance(static_cast<std::int64_t>(a.value_) - static_cast<std::int64_t>(b.value_));
  }
  friend constexpr auto operator<=>(Ordinal, Ordinal) = default;
  friend std::ostream& operator<<(std::ostream& out, Ordinal a) { return out << a.value_; }
  template <typename Hash>  // for abseil's hash maps
  friend Hash AbslHashValue(Hash hash, Ordinal a) {
    return Hash::combine(std::move(hash), a.value_);
  }

 private:
  Rep value_ = 0;
};

using BlockCount = Quantity<struct BlockCountTag>;
using TokenCount = Quantity<struct TokenCountTag>;  // tokens, and the slots that hold them
using ByteCount = Quantity<struct ByteCountTag>;
using SimDuration = Quantity<struct SimDurationTag>;  // nanoseconds of simulated time

using BlockId = Ordinal<struct BlockIdTag, BlockCount, std::int32_t>;
using SlotId = Ordinal<struct SlotIdTag, TokenCount>;  // block_id * block_size + offset
using SimTime = Ordinal<struct SimTimeTag, SimDuration>;

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

constexpr double seconds(SimDuration duration) {
  return static_cast<double>(duration.value()) / static_cast<double>(kNanosecondsPerSecond);
}
constexpr double seconds(SimTime time) { return seconds(time - SimTime()); }

// The smallest number of units that covers `amount`; `amount` must be non-negative, `unit`
// positive.
constexpr std::int64_t ceil_div(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit;
}

constexpr BlockCount blocks_for(TokenCount tokens, TokenCount block_size) {
  return BlockCount(ceil_div(tokens.value(), block_size.value()));
}

}  // namespace recto
