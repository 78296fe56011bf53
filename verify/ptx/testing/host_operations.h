#pragma once

// Instructions of straight-line programs, and what they compute in plain C++. It shares nothing
// with the executor's arithmetic: it is the host's, with the host's rounding modes, and simple
// loops over bits.

#include <cstdint>
#include <string_view>
#include <vector>

namespace recto::ptx {

// Operands are x[0], x[1], ...; results are cut to their registers.
struct HostOperation {
  std::string_view text;  // $0: the result, $1 ...: operands, #: the guard, %t: for the text itself
  std::string_view kinds;  // registers, the result's first: h 16, r 32, d 64 bits, p predicates
  std::uint64_t (*result)(const std::uint64_t* x);
};

const std::vector<HostOperation>& host_operations();

}  // namespace recto::ptx
