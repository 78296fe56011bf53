#pragma once

// Long columns of numbers in few bytes of JSON: differences of neighbours, zigzag, seven bits to a
// byte, base64. web/packed.js reads them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recto::experiments {

std::string packed(std::span<const std::int64_t> numbers);

// RFC 4648, padded.
std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace recto::experiments
