#pragma once

// The identity of each token of a request, derived from its content alone.

#include <cstdint>
#include <vector>

#include "sim/request.h"

namespace recto::sim {

// The hash of the tokens [0, position] of one of the request's sequences, given the hash of [0,
// position), or `kEmptyChain`. All beams count as one sequence, since which beam continues which is
// random.
std::uint64_t extend_chain(std::uint64_t chain, const Request& request, std::int64_t member,
                           std::int64_t position);

inline constexpr std::uint64_t kEmptyChain = 0xcbf29ce484222325u;

// The hash after each of the first `length` tokens.
std::vector<std::uint64_t> chain_of(const Request& request, std::int64_t member,
                                    std::int64_t length);  // [length]

}  // namespace recto::sim
