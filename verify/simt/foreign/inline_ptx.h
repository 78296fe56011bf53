#pragma once

// Inline PTX on the CPU: straight-line code over 16-, 32- and 64-bit registers, as CUDA sources use
// it for half-precision arithmetic. An instruction that is not in the table of ptx_opcodes.h does
// not compile.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "verify/simt/dialect/simt_taint.h"
#include "verify/simt/executor/unobserved.h"
#include "verify/simt/foreign/ptx_opcodes.h"
#include "verify/simt/foreign/ptx_operands.h"

namespace simt_foreign {

// A string literal as a template argument.
template <std::size_t kSize>
struct PtxText {
  char characters[kSize];

  // NOLINTNEXTLINE: from literals, without a word
  constexpr PtxText(const char (&text)[kSize]) {
    for (std::size_t i = 0; i < kSize; ++i) characters[i] = text[i];
  }
  constexpr std::string_view view() const { return {characters, kSize - 1}; }
};

// The bits of an operand of the asm statement.
struct PtxOperand {
  void* place = nullptr;  // null: read-only operand
  std::size_t bytes = 0;
  std::uint64_t bits = 0;
  std::uint64_t tainted = 0;  // the tainted bits, in programs with shadow memory
};

template <typename T>
RECTO_SIMT_UNOBSERVED PtxOperand changed(T& place) {
  static_assert(sizeof(T) <= 8, "registers hold at most 8 bytes");
  PtxOperand operand{.place = &place, .bytes = sizeof(T)};
  std::memcpy(&operand.bits, &place, sizeof(T));
  return operand;
}

template <typename T>
RECTO_SIMT_UNOBSERVED PtxOperand written(T& place) {
  static_assert(sizeof(T) <= 8, "registers hold at most 8 bytes");
  return {.place = &place, .bytes = sizeof(T)};
}

template <typename T>
RECTO_SIMT_UNOBSERVED PtxOperand read(const T& value) {
  static_assert(sizeof(T) <= 8, "registers hold at most 8 bytes");
  PtxOperand operand{.bytes = sizeof(T)};
  std::memcpy(&operand.bits, &value, sizeof(T));
  return operand;
}

// Runs `text`; %0, %1 ... are the operands.
void run_ptx(std::string_view text, std::span<PtxOperand> operands);

// Takes a copy: under UBSan, g++ does not accept the address of a template argument as a constant.
template <std::size_t kSize>
constexpr bool is_known(PtxText<kSize> text) {
  return is_known_ptx(text.view());
}
template <std::size_t kSize>
constexpr bool has_known_operands(PtxText<kSize> text, std::size_t given) {
  return has_known_ptx_operands(text.view(), given);
}

template <PtxText kText, typename... Operands>
RECTO_SIMT_UNOBSERVED void inline_ptx(Operands... given) {
  static_assert(
      is_known(kText),
      "verify/simt: this PTX is not supported; verify/simt/foreign/README.md lists what is");
  if constexpr (is_known(kText)) {
    static_assert(
        has_known_operands(kText, sizeof...(given)),
        "verify/simt: this PTX has an operand that is neither given to it, nor a register "
        "that it declares, nor a number; or too many or too few of them");
  }
  std::array<PtxOperand, sizeof...(given)> operands = {given...};
  for (PtxOperand& operand : operands) {
    operand.tainted = recto::simt::device::tainted_bits(operand.bits);
    operand.bits = recto::simt::device::without_taint(operand.bits);
  }
  run_ptx(kText.view(), operands);
  for (const PtxOperand& operand : operands) {
    if (operand.place == nullptr) continue;
    const std::uint64_t bits =
        recto::simt::device::with_tainted_bits(operand.bits, operand.tainted);
    std::memcpy(operand.place, &bits, operand.bytes);
  }
}

}  // namespace simt_foreign
