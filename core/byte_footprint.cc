#include "core/byte_footprint.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/refusal.h"

namespace recto {
namespace {

// Replaces `span` by the span of `level.count` steps, each over `span` bytes.
Status extend_span(const StridedTensor& tensor, const StrideLevel& level, std::int64_t& span) {
  std::int64_t bytes = 0;
  bool overflows = __builtin_mul_overflow(level.stride, tensor.element_bytes, &bytes);
  overflows |= __builtin_mul_overflow(bytes, level.count - 1, &bytes);
  overflows |= __builtin_add_overflow(span, bytes, &span);
  if (!overflows) return Status::ok();
  return refusal(
      field_name(tensor.name, level.field), "an extent below 2^63 bytes",
      fmt::format("{} x {} elements of {} bytes", level.count, level.stride, tensor.element_bytes));
}

Status check_aligned(const ByteFootprint& tensor, std::int64_t alignment_bytes) {
  const std::int64_t alignment = std::max(alignment_bytes, tensor.element_bytes);
  if (tensor.begin % alignment != 0) {
    return refusal(field_name(tensor.name, "data"),
                   fmt::format("a multiple of {} bytes", alignment),
                   fmt::format("{:#x}", tensor.begin));
  }
  for (std::size_t i = 0; i < tensor.num_levels; ++i) {
    const ByteFootprint::Level& level = tensor.levels[i];
    if (level.stride_bytes % alignment == 0) continue;
    return refusal(field_name(tensor.name, level.field),
                   fmt::format("a multiple of {} elements ({} bytes)",
                               alignment / tensor.element_bytes, alignment),
                   std::to_string(level.stride_bytes / tensor.element_bytes));
  }
  return Status::ok();
}

Status check_address(const ByteFootprint& tensor) {
  if (tensor.begin == 0) return refusal(field_name(tensor.name, "data"), "an address", "null");
  std::int64_t end = 0;
  if (tensor.begin > 0 && !__builtin_add_overflow(tensor.begin, tensor.span_bytes(), &end)) {
    return Status::ok();
  }
  return refusal(field_name(tensor.name, "data"),
                 fmt::format("an address from which {} bytes end below 2^63", tensor.span_bytes()),
                 fmt::format("{:#x}", std::bit_cast<std::uint64_t>(tensor.begin)));
}

bool is_nested(const ByteFootprint& tensor) { return check_nested(tensor).is_ok(); }

// The first `num_levels` levels of a nested tensor: one of the repeated parts that it is made of.
struct Part {
  const ByteFootprint& tensor;
  std::size_t num_levels;

  std::int64_t stride() const {
    return num_levels == 0 ? 0 : tensor.levels[num_levels - 1].stride_bytes;
  }
  std::int64_t span() const { return tensor.span_bytes(num_levels); }
};

// Whether `right`, which begins `distance` bytes after `left`, has a byte in common with it.
//
// With s the larger of the two strides, each part is a number of steps of s, or a single one if s
// is not its own stride. A step's bytes span at most s, so steps of both overlap only if their
// distance, distance + m * s for an integer m, is in (-s, s): for at most two m.
bool do_parts_overlap(Part left, Part right, std::int64_t distance) {
  if (distance >= left.span() || -distance >= right.span()) return false;
  const std::int64_t stride = std::max(left.stride(), right.stride());
  if (stride == 0) return true;
  std::int64_t left_count = 1;
  std::int64_t right_count = 1;
  if (left.stride() == stride) left_count = left.tensor.levels[--left.num_levels].count;
  if (right.stride() == stride) right_count = right.tensor.levels[--right.num_levels].count;
  if (left.span() > stride || right.span() > stride) return true;
  // distance + m * stride in (-stride, 0] for the first m.
  const std::int64_t first = distance > 0 ? -((distance - 1) / stride) - 1 : -distance / stride;
  for (const std::int64_t m : {first, first + 1}) {
    if (m <= -left_count || m >= right_count) continue;
    if (do_parts_overlap(left, right, distance + m * stride)) return true;
  }
  return false;
}

}  // namespace

std::string ByteFootprint::range() const {
  return fmt::format("[{:#x}, {:#x})", begin, begin + span_bytes());
}

Result<ByteFootprint> footprint_of(const StridedTensor& tensor, std::int64_t alignment_bytes) {
  if (alignment_bytes < 0 || std::popcount(static_cast<std::uint64_t>(alignment_bytes)) > 1) {
    return refusal("alignment_bytes", "0 or a power of two", std::to_string(alignment_bytes));
  }
  ByteFootprint bytes{.name = tensor.name,
                      .element_bytes = tensor.element_bytes,
                      .begin = std::bit_cast<std::int64_t>(tensor.data),
                      .levels = {}};
  RECTO_CHECK_GE(tensor.run, 0);
  bool is_empty = tensor.run == 0;
  for (const StrideLevel& level : tensor.levels) {
    RECTO_CHECK_GE(level.count, 0);
    RECTO_RETURN_IF_ERROR(expect_at_least({tensor.name, level.field, level.stride}, 0));
    is_empty |= level.count == 0;
  }
  if (is_empty) return bytes;
  bytes.run_bytes = tensor.element_bytes;
  RECTO_RETURN_IF_ERROR(extend_span(tensor, {tensor.run_field, tensor.run, 1}, bytes.run_bytes));
  std::int64_t span = bytes.run_bytes;
  for (const StrideLevel& level : tensor.levels) {
    if (level.count == 1) continue;  // its stride is never used
    RECTO_RETURN_IF_ERROR(extend_span(tensor, level, span));
    bytes.levels[bytes.num_levels++] = {.field = level.field,
                                        .count = level.count,
                                        .stride_bytes = level.stride * tensor.element_bytes};
  }
  const auto end = bytes.levels.begin() + static_cast<std::ptrdiff_t>(bytes.num_levels);
  std::stable_sort(bytes.levels.begin(), end,
                   [](const auto& a, const auto& b) { return a.stride_bytes < b.stride_bytes; });
  span = bytes.run_bytes;
  for (auto level = bytes.levels.begin(); level != end; ++level) {
    span += level->stride_bytes * (level->count - 1);
    level->span_bytes = span;
  }
  RECTO_RETURN_IF_ERROR(check_address(bytes));
  RECTO_RETURN_IF_ERROR(check_aligned(bytes, alignment_bytes));
  return bytes;
}

Status check_nested(const ByteFootprint& tensor) {
  for (std::size_t i = 0; i < tensor.num_levels; ++i) {
    const ByteFootprint::Level& level = tensor.levels[i];
    const std::int64_t within = tensor.span_bytes(i);
    if (level.stride_bytes >= within) continue;
    return refusal(
        field_name(tensor.name, level.field),
        fmt::format("at least {} (the inner dimensions' extent)", within / tensor.element_bytes),
        std::to_string(level.stride_bytes / tensor.element_bytes));
  }
  return Status::ok();
}

bool do_overlap(const ByteFootprint& left, const ByteFootprint& right) {
  if (left.span_bytes() == 0 || right.span_bytes() == 0) return false;
  const std::int64_t distance = right.begin - left.begin;
  if (distance >= left.span_bytes() || -distance >= right.span_bytes()) return false;
  if (!is_nested(left) || !is_nested(right)) return true;
  return do_parts_overlap({left, left.num_levels}, {right, right.num_levels}, distance);
}

Status check_apart(const ByteFootprint& tensor, const ByteFootprint& other) {
  if (!do_overlap(tensor, other)) return Status::ok();
  return refusal(field_name(tensor.name, "data"),
                 fmt::format("memory apart from {} at {}", other.name, other.range()),
                 tensor.range());
}

}  // namespace recto
