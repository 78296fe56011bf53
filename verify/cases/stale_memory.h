#pragma once

// Initial contents of memory that is to be written, as an earlier call might have left it.

#include <cstddef>
#include <cstdint>
#include <span>

namespace recto::verify {

// NaN in every type.
inline constexpr std::uint32_t kStaleNaN = 0xffff'ffffU;

// Fills `memory` with the four bytes of `pattern`, lowest first, repeated.
inline void fill_with(std::span<std::byte> memory, std::uint32_t pattern) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(pattern >> (i % sizeof pattern * 8));
}

}  // namespace recto::verify
