#pragma once

// NVIDIA's conversions and arithmetic on 16- and 8-bit numbers, on the bits of their arguments.
// number_functions.cc is compiled twice, with the executor's types and with NVIDIA's own headers,
// so that the two can be compared.

#include <cstdint>
#include <span>

struct NumberFunction {
  const char* name;
  int argument_bits;  // of each
  int arguments;      // 1 or 2
  std::uint32_t (*call)(std::uint32_t a, std::uint32_t b);
};

std::span<const NumberFunction> executor_number_functions();
std::span<const NumberFunction> nvidia_number_functions();
