#pragma once

// What memory that is written to holds before: what a call before has left there.

#include <cstddef>
#include <cstdint>
#include <span>

namespace recto::verify {

// NaN in every type.
inline constexpr std::uint32_t kStaleNaN = 0xffff'ffffU;

// The four bytes of `pattern`, the lowest first, over and over.
inline void fill_with(std::span<std::byte> memory, std::uint32_t pattern) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(pattern >> (i % sizeof pattern * 8));
}

}  // namespace recto::verify
