#pragma once

// Asynchronous copies in inline PTX: cp.async and its groups, parsed at compile time. A text that
// has them may contain nothing else.

#include <cstdint>
#include <optional>
#include <string_view>

#include "verify/simt/foreign/ptx_opcodes.h"
#include "verify/simt/foreign/ptx_operands.h"

namespace simt_foreign {

enum class PtxCopyKind : std::uint8_t { kCopy, kCommit, kWaitGroup, kWaitAll };

struct PtxCopy {
  PtxCopyKind kind = PtxCopyKind::kCopy;
  bool is_cg = false;  // bypasses the multiprocessor's cache; 16 bytes only
  PtxElement destination = {};
  PtxElement source = {};
  PtxElement bytes = {};  // or the groups that a wait leaves pending
  PtxElement source_bytes = {};
};

// %2, 16, or %2 + 16.
constexpr std::optional<PtxElement> ptx_term(std::string_view text, std::size_t given) {
  const std::size_t plus = text.find('+');
  const std::optional<PtxElement> place = ptx_given(trim_ptx(text.substr(0, plus)), given);
  if (place && plus == std::string_view::npos) return place;
  const std::string_view digits = trim_ptx(place ? text.substr(plus + 1) : text);
  const std::optional<std::uint64_t> number = ptx_digits(digits);
  if (!number || digits.size() > 9) return std::nullopt;
  return PtxElement{place ? place->place : -1, *number};
}

// [%0], [%0+16]
constexpr std::optional<PtxElement> ptx_address(std::string_view text, std::size_t given) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  return ptx_term(text.substr(1, text.size() - 2), given);
}

// cp.async.ca.shared.global and its variants, with or without a prefetch size, which is only a
// hint.
constexpr bool is_ptx_copy_name(std::string_view name) {
  for (const std::string_view hint : {".L2::64B", ".L2::128B", ".L2::256B"}) {
    if (name.size() > hint.size() && name.substr(name.size() - hint.size()) == hint) {
      name.remove_suffix(hint.size());
      break;
    }
  }
  return name == "cp.async.ca.shared.global" || name == "cp.async.cg.shared.global" ||
         name == "cp.async.ca.shared::cta.global" || name == "cp.async.cg.shared::cta.global";
}

// The copy; nothing if the statement is not such a copy, or has other operands.
constexpr std::optional<PtxCopy> find_ptx_copy(std::string_view statement, std::size_t given) {
  const std::string_view name = ptx_name(statement);
  std::string_view operands = trim_ptx(statement.substr(name.size()));
  PtxCopy copy;
  if (name == "cp.async.commit_group" || name == "cp.async.wait_all") {
    copy.kind = name == "cp.async.wait_all" ? PtxCopyKind::kWaitAll : PtxCopyKind::kCommit;
    return operands.empty() ? std::optional(copy) : std::nullopt;
  }
  if (name == "cp.async.wait_group") {
    const std::optional<PtxElement> groups = ptx_term(operands, given);
    if (!groups) return std::nullopt;
    copy.kind = PtxCopyKind::kWaitGroup;
    copy.bytes = *groups;
    return copy;
  }
  if (!is_ptx_copy_name(name)) return std::nullopt;
  copy.is_cg = name.substr(9, 2) == "cg";
  const std::optional<PtxElement> destination = ptx_address(next_ptx_operand(operands), given);
  const std::optional<PtxElement> source = ptx_address(next_ptx_operand(operands), given);
  const std::optional<PtxElement> bytes = ptx_term(next_ptx_operand(operands), given);
  const std::optional<PtxElement> read =
      operands.empty() ? bytes : ptx_term(next_ptx_operand(operands), given);
  if (!destination || !source || !bytes || !read || !operands.empty()) return std::nullopt;
  copy.destination = *destination;
  copy.source = *source;
  copy.bytes = *bytes;
  copy.source_bytes = *read;
  return copy;
}

// The number of copies and waits in a text; 0 if it contains anything else.
constexpr std::size_t count_ptx_copies(std::string_view text, std::size_t given) {
  for (std::size_t count = 0;; ++count) {
    const std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return count;
    if (!find_ptx_copy(statement, given)) return 0;
  }
}

// The copy or wait with number `index`.
constexpr PtxCopy ptx_copy_at(std::string_view text, std::size_t given, std::size_t index) {
  std::string_view statement = next_ptx_statement(text);
  for (; index > 0; --index) statement = next_ptx_statement(text);
  return *find_ptx_copy(statement, given);
}

}  // namespace simt_foreign
