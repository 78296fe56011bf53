// The law of appending passes the reference's write to the slots that block tables give, and fails
// every append with one fault.

#include "verify/laws/cache_operations/kv_append_law.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using Append = void (*)(const KvAppendInputs& inputs);

LawReport report_of(const Append append) {
  const KvAppender appender{.backend = "appender",
                            .append = [append](const KvAppendInputs& inputs) -> CallOutcome {
                              if (inputs.kv.k.block_size == 48) return Unsupported{"blocks of 48"};
                              append(inputs);
                              return Done{};
                            }};
  Backend named;
  named.name = "appender";
  Backend other;
  other.name = "attention";
  return run_laws({kv_append_law(appender)}, {named, other},
                  drawn_cases({.name = "appends", .count = 60}, {}),
                  {.failures_kept = 1, .shrinking_trials = 50});
}

// The slot of sequence s's token, and the sequence's new length.
std::int64_t slot_of(const KvAppendInputs& inputs, std::size_t s) {
  const std::int64_t position = inputs.cached_length[s];
  if (position < 0) return -1;
  const BlockTableView& table = inputs.block_table;
  const std::int64_t block = table.data[static_cast<std::int64_t>(s) * table.row_stride +
                                        position / inputs.kv.k.block_size];
  return block < 0 ? -1 : block * inputs.kv.k.block_size + position % inputs.kv.k.block_size;
}

std::vector<std::int64_t> tell_lengths(const KvAppendInputs& inputs) {
  std::vector<std::int64_t> slots;
  for (std::size_t s = 0; s < inputs.cached_length.size(); ++s) {
    slots.push_back(slot_of(inputs, s));
    inputs.context_length[s] = std::max(inputs.cached_length[s], 0) + (slots.back() < 0 ? 0 : 1);
  }
  return slots;
}

void write_at(const KvAppendInputs& inputs, const std::vector<std::int64_t>& slots) {
  reference::write_kv({.k = inputs.k, .v = inputs.v, .slot_mapping = slots, .kv = inputs.kv});
}

void append_right(const KvAppendInputs& inputs) { write_at(inputs, tell_lengths(inputs)); }

void append_nothing(const KvAppendInputs& inputs) { tell_lengths(inputs); }

void append_padding_too(const KvAppendInputs& inputs) {
  std::vector<std::int64_t> slots = tell_lengths(inputs);
  for (std::int64_t& slot : slots) slot = std::max<std::int64_t>(slot, 0);
  write_at(inputs, slots);
}

void append_a_slot_early(const KvAppendInputs& inputs) {
  std::vector<std::int64_t> slots = tell_lengths(inputs);
  for (std::int64_t& slot : slots) slot = slot > 0 ? slot - 1 : slot;
  write_at(inputs, slots);
}

void append_and_forget_lengths(const KvAppendInputs& inputs) {
  append_right(inputs);
  std::ranges::copy(inputs.cached_length, inputs.context_length.begin());
}

TEST_CASE("the reference's write keeps the law; backends without an append are skipped") {
  const LawReport report = report_of(append_right);
  INFO(report.table());
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].held > 40);
  CHECK(report.counts[0].skipped.at("blocks of 48") > 0);
  CHECK(report.counts[1].ran() == 0);
  CHECK(report.counts[1].skipped.at("it appends no K and V") > 40);
}

TEST_CASE("an append with one fault breaks the law") {
  for (const Append append :
       {append_nothing, append_padding_too, append_a_slot_early, append_and_forget_lengths}) {
    const LawReport report = report_of(append);
    CHECK(report.failed() > 0);
    REQUIRE(report.failures.size() == 1);
    INFO(report.failures[0]);
    CHECK((report.failures[0].find("against the reference's write") != std::string::npos));
  }
}

}  // namespace
}  // namespace recto::verify
