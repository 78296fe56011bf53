#include "cuda/cache/batch_tables.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

Status check_padding(const CacheCore& core, BlockId padding) {
  const std::int64_t nulls = core.options.null_blocks.value();
  if (padding == kNoBlock || (padding.value() >= 0 && padding.value() < nulls)) return Status::ok();
  return Status::invalid_input(
      message("padding = ", padding, "; expected -1, or one of the ", nulls, " null blocks"));
}

}  // namespace

Result<BatchTables> BatchTables::create(const BlockManager& manager,
                                        const BatchTableOptions& options,
                                        std::span<std::int32_t> buffer) {
  BatchTables tables(CacheCore::of(manager));
  RECTO_RETURN_IF_ERROR(tables.make(options, buffer).in("batch tables"));
  return tables;
}

Status BatchTables::make(const BatchTableOptions& options, std::span<std::int32_t> buffer) {
  constexpr std::int64_t kMostRows = 1 << 20;
  const std::int64_t groups = core_->geometry.num_groups();
  if (options.max_rows < 1 || options.max_rows > kMostRows) {
    return Status::invalid_input(
        message("max_rows = ", options.max_rows, "; expected 1 to ", kMostRows));
  }
  RECTO_RETURN_IF_ERROR(check_padding(*core_, options.padding));
  const std::int64_t rows = groups * options.max_rows;
  const std::int64_t columns = core_->geometry.max_blocks();
  if (std::ssize(buffer) / columns != rows || std::ssize(buffer) % columns != 0) {
    return Status::invalid_input(
        message("buffer of ", buffer.size(), " entries; expected ", rows, " rows of ", columns));
  }
  RECTO_RETURN_IF_ERROR(rows_.allocate(options.max_rows, "rows", Row{}));
  RECTO_RETURN_IF_ERROR(row_of_.allocate(core_->sequences.size(), "sequences' rows", kNone));
  RECTO_RETURN_IF_ERROR(stale_.allocate(options.max_rows, "stale rows"));
  const std::int64_t most_ranges = groups * (core_->sequences.log().capacity() + options.max_rows);
  RECTO_RETURN_IF_ERROR(ranges_.allocate(most_ranges, "ranges"));
  padding_ = options.padding;
  rows_of_sequence_ = options.rows_of_sequence;
  buffer_ = buffer;
  seen_ = core_->sequences.log().total();
  std::fill(buffer.begin(), buffer.end(), padding_.value());
  return Status::ok();
}

Status BatchTables::check_row(std::int32_t row) const {
  if (row >= 0 && row < rows_.ssize()) return Status::ok();
  return Status::invalid_input(message("row ", row, "; expected 0 to ", rows_.ssize() - 1));
}

bool BatchTables::is_in_use(std::int32_t row) const {
  return rows_[row].is_assigned && core_->sequences.is_alive(rows_[row].sequence);
}

Status BatchTables::assign(std::int32_t row, SequenceHandle sequence) {
  RECTO_RETURN_IF_ERROR(check_row(row).in("assign"));
  const Result<std::int32_t> index = core_->sequences.find(sequence);
  if (!index.is_ok()) return index.status().in("assign");
  if (is_in_use(row) && rows_[row].sequence != sequence) {
    return Status::invalid_input(
        message("assign: row ", row, " belongs to sequence ", rows_[row].sequence));
  }
  std::int32_t& other = row_of_[index.value()];
  if (rows_of_sequence_ == RowsOfSequence::kOne) {
    if (other != kNone && other != row && rows_[other].sequence == sequence) {
      return Status::invalid_input(message("assign: sequence ", sequence, " has row ", other));
    }
  }
  // Rows of a released sequence have kept its index until now.
  while (other != kNone && rows_[other].sequence != sequence) unassign(other);
  unassign(row);
  rows_[row].sequence = sequence;
  rows_[row].is_assigned = true;
  rows_[row].next = std::exchange(other, row);
  mark_stale(row);
  return Status::ok();
}

Status BatchTables::clear(std::int32_t row) {
  RECTO_RETURN_IF_ERROR(check_row(row).in("clear"));
  unassign(row);
  return Status::ok();
}

void BatchTables::unassign(std::int32_t row) {
  if (!rows_[row].is_assigned) return;
  rows_[row].is_assigned = false;
  std::int32_t* link = &row_of_[rows_[row].sequence.index];
  while (*link != row) link = &rows_[*link].next;
  *link = rows_[row].next;
  mark_stale(row);
}

void BatchTables::mark_stale(std::int32_t row) {
  if (std::exchange(rows_[row].is_stale, true)) return;
  stale_[num_stale_++] = row;
}

std::span<const TableRange> BatchTables::update() {
  num_ranges_ = 0;
  const ChangeLog& log = core_->sequences.log();
  if (log.total() - seen_ > log.capacity()) {
    for (std::int32_t row = 0; row < rows_.ssize(); ++row) {
      if (rows_[row].is_assigned) mark_stale(row);
    }
    seen_ = log.total();
  }
  for (; seen_ < log.total(); ++seen_) follow(log.change(seen_));
  for (const std::int32_t row : stale_.first(num_stale_)) rewrite(row);
  num_stale_ = 0;
  return ranges_.first(num_ranges_);
}

void BatchTables::follow(const TableChange& change) {
  const std::int32_t row = row_of_[change.sequence];
  if (row == kNone) return;
  if (rows_[row].next != kNone) {
    for (std::int32_t each = row; each != kNone; each = rows_[each].next) mark_stale(each);
    return;
  }
  if (!is_in_use(row)) unassign(row);
  if (rows_[row].is_stale) return;
  rows_[row].written = core_->device.row(change.sequence).blocks;
  write(row, change.first, std::int64_t{change.first} + change.count);
}

void BatchTables::rewrite(std::int32_t row) {
  if (!is_in_use(row)) unassign(row);
  const std::int32_t blocks =
      rows_[row].is_assigned ? core_->device.row(rows_[row].sequence.index).blocks : 0;
  const std::int32_t end = std::max(blocks, rows_[row].written);
  rows_[row].is_stale = false;
  rows_[row].written = blocks;
  if (end > 0) write(row, 0, end);
}

void BatchTables::write(std::int32_t row, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = core_->geometry.max_blocks();
  const std::int32_t sequence = rows_[row].sequence.index;
  const std::int64_t blocks = rows_[row].is_assigned ? rows_[row].written : 0;
  for (std::int32_t group = 0; group < core_->geometry.num_groups(); ++group) {
    const std::int64_t begin = (group * rows_.ssize() + row) * columns;
    for (std::int64_t column = first; column < end; ++column) {
      const BlockId block =
          column < blocks ? core_->device.block({sequence, group, column}) : kNoBlock;
      buffer_[static_cast<std::size_t>(begin + column)] =
          (block == kNoBlock ? padding_ : block).value();
    }
    ranges_[num_ranges_++] = {.first = begin + first, .count = end - first};
  }
}

BlockTableView BatchTables::view(std::int32_t group) const { return view(group, 0, rows_.ssize()); }

BlockTableView BatchTables::view(std::int32_t group, std::int64_t first, std::int64_t count) const {
  RECTO_CHECK_GE(group, 0);
  RECTO_CHECK_LT(group, core_->geometry.num_groups());
  RECTO_CHECK_GE(first, 0);
  RECTO_CHECK_GE(count, 0);
  RECTO_CHECK_LE(count, rows_.ssize() - first);
  const std::int64_t columns = core_->geometry.max_blocks();
  return {.data = buffer_.data() + (group * rows_.ssize() + first) * columns,
          .num_seqs = count,
          .max_blocks = columns,
          .row_stride = columns};
}

std::optional<SequenceHandle> BatchTables::row(std::int32_t row) const {
  const bool is_row = check_row(row).is_ok();
  if (!is_row || !is_in_use(row)) return std::nullopt;
  return rows_[row].sequence;
}

}  // namespace recto::cache
