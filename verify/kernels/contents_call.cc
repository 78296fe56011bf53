#include "verify/kernels/contents_call.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace recto::verify {
namespace {

using kernels::ContentsCheckParams;
using kernels::ContentsViolation;

// A value that no check reports, so that a missing write is noticed.
ContentsViolation unwritten() {
  return {.rule = static_cast<kernels::ContentsRule>(-1), .index = -1};
}

// Adds each row as a separate buffer.
void add_table(DeviceCall& call, const BlockTableView& table) {
  for (std::int64_t sequence = 0; sequence < table.num_seqs; ++sequence) {
    call.add_read("block_table[" + std::to_string(sequence) + "]",
                  std::span(table.data + sequence * table.row_stride,
                            static_cast<std::size_t>(table.max_blocks)));
  }
}

}  // namespace

ContentsCheckParams contents_params(const PagedAttentionInputs& inputs) {
  ContentsCheckParams params = {
      .block_table = inputs.block_table,
      .num_blocks = inputs.kv.k.num_blocks,
      .block_size = inputs.kv.k.block_size,
      .query_start = inputs.query_start.empty() ? nullptr : inputs.query_start.data(),
      .lengths = inputs.context_length.data(),
      .num_query_rows = inputs.q.num_rows};
  for (std::size_t sequence = 0; sequence + 1 < inputs.query_start.size(); ++sequence) {
    const std::int64_t rows = inputs.query_start[sequence + 1] - inputs.query_start[sequence];
    params.max_query_length = std::max(params.max_query_length, rows);
  }
  for (const std::int32_t length : inputs.context_length) {
    params.max_context_length = std::max(params.max_context_length, std::int64_t{length});
  }
  return params;
}

ContentsViolation call_contents_check(simt::Executor& executor, const ObserverMaker& observer,
                                      const ContentsCheckParams& params) {
  const auto num_seqs = static_cast<std::size_t>(params.block_table.num_seqs);
  ContentsViolation found = unwritten();
  ContentsCheckParams own = params;
  own.violation = &found;
  DeviceCall call(executor);
  add_table(call, params.block_table);
  if (params.query_start != nullptr) {
    call.add_read("query_start", std::span(params.query_start, num_seqs + 1));
  }
  call.add_read("lengths", std::span(params.lengths, num_seqs));
  call.add_write("violation", std::span(&found, 1));
  call.run(observer,
           [&own](simt::Stream& stream) { return kernels::launch_contents_check(own, &stream); });
  return found;
}

ContentsViolation call_slot_check(simt::Executor& executor, const ObserverMaker& observer,
                                  const kernels::SlotCheckParams& params) {
  ContentsViolation found = unwritten();
  kernels::SlotCheckParams own = params;
  own.violation = &found;
  DeviceCall call(executor);
  call.add_read("slot_mapping",
                std::span(params.slot_mapping, static_cast<std::size_t>(params.num_tokens)));
  call.add_write("violation", std::span(&found, 1));
  call.run(observer,
           [&own](simt::Stream& stream) { return kernels::launch_slot_check(own, &stream); });
  return found;
}

ContentsViolation call_pair_check(simt::Executor& executor, const ObserverMaker& observer,
                                  const kernels::PairCheckParams& params) {
  ContentsViolation found = unwritten();
  kernels::PairCheckParams own = params;
  own.violation = &found;
  DeviceCall call(executor);
  call.add_read("pairs", std::span(params.pairs, static_cast<std::size_t>(params.num_pairs)));
  call.add_write("violation", std::span(&found, 1));
  call.run(observer,
           [&own](simt::Stream& stream) { return kernels::launch_pair_check(own, &stream); });
  return found;
}

std::array<std::int64_t, 5> fields_of(const ContentsViolation& violation) {
  return {static_cast<std::int64_t>(violation.rule), violation.index, violation.other,
          violation.value, violation.limit};
}

}  // namespace recto::verify
