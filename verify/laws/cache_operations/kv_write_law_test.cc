// The law of KV writes passes the reference's write, and fails every write with one fault.

#include "verify/laws/cache_operations/kv_write_law.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using Write = void (*)(const KvWriteInputs& inputs);
using Call = std::function<CallOutcome(const KvWriteInputs& inputs)>;

Backend named(const std::string& name) {
  Backend backend;
  backend.name = name;
  return backend;
}

LawReport report_of_call(const Call& write, std::int64_t shrinking_trials = 50) {
  const KvWriter writer{.backend = "writer",
                        .write = [write](const KvWriteInputs& inputs) -> CallOutcome {
                          if (inputs.kv.k.block_size == 48) return Unsupported{"blocks of 48"};
                          return write(inputs);
                        }};
  return run_laws({kv_write_law(writer)}, {named("writer"), named("attention")},
                  drawn_cases({.name = "writes", .count = 60}, {}),
                  {.failures_kept = 1, .shrinking_trials = shrinking_trials});
}

LawReport report_of(const Write write, std::int64_t shrinking_trials = 50) {
  return report_of_call(done_after(write), shrinking_trials);
}

std::byte* slot_of(const MutableKvTensorView& cache, std::int64_t slot) {
  return static_cast<std::byte*>(cache.data) + (slot / cache.block_size * cache.block_stride +
                                                slot % cache.block_size * cache.slot_stride) *
                                                   element_bytes(cache.type);
}

void write_last_slot_again(const KvWriteInputs& inputs) {
  reference::write_kv(inputs);
  const std::int64_t last = inputs.kv.v.num_blocks * inputs.kv.v.block_size - 1;
  *slot_of(inputs.kv.v, last) ^= std::byte{1};
}

void write_to_nowhere(const KvWriteInputs& inputs) {
  std::vector<std::int64_t> slots(inputs.slot_mapping.begin(), inputs.slot_mapping.end());
  for (std::int64_t& slot : slots)
    if (slot == -1) slot = 0;
  KvWriteInputs wrong = inputs;
  wrong.slot_mapping = slots;
  reference::write_kv(wrong);
}

void write_keys_alone(const KvWriteInputs& inputs) {
  KvWriteInputs wrong = inputs;
  wrong.v = inputs.k;
  wrong.kv.v = inputs.kv.k;
  reference::write_kv(wrong);
}

void write_unscaled(const KvWriteInputs& inputs) {
  KvWriteInputs wrong = inputs;
  wrong.kv.k.scale = wrong.kv.v.scale = {};
  reference::write_kv(wrong);
}

void write_all_but_the_last(const KvWriteInputs& inputs) {
  KvWriteInputs wrong = inputs;
  wrong.slot_mapping = inputs.slot_mapping.first(inputs.slot_mapping.size() - 1);
  reference::write_kv(wrong);
}

// The wrong quotient that fp8 stores for x, as a number without scale.
using Quotient = float (*)(float x, float scale);

std::vector<float> quotients(const RowsView& rows, const MutableKvTensorView& cache,
                             const Quotient of) {
  std::vector<double> values(static_cast<std::size_t>(rows.num_rows * rows.row_stride));
  reference::decode_row(rows.data, rows.type, values);
  std::vector<float> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t head = std::min(
        static_cast<std::int64_t>(i) % rows.row_stride / rows.head_stride, rows.num_heads - 1);
    const auto scale = static_cast<float>(reference::scale_of(as_const(cache), head));
    found.push_back(of(static_cast<float>(values[i]), scale));
  }
  return found;
}

void write_quotients(const KvWriteInputs& inputs, const Quotient of) {
  if (!is_fp8(inputs.kv.k.type)) return reference::write_kv(inputs);
  const std::vector<float> k = quotients(inputs.k, inputs.kv.k, of);
  const std::vector<float> v = quotients(inputs.v, inputs.kv.v, of);
  KvWriteInputs wrong = inputs;
  wrong.k.data = k.data();
  wrong.v.data = v.data();
  wrong.k.type = wrong.v.type = ElementType::kFp32;
  wrong.kv.k.scale = wrong.kv.v.scale = {};
  reference::write_kv(wrong);
}

// Rounds ties away from zero, by making the written numbers slightly larger.
void write_ties_up(const KvWriteInputs& inputs) {
  write_quotients(inputs, [](float x, float scale) { return x / scale * (1 + 0x1p-20F); });
}

void write_by_reciprocal(const KvWriteInputs& inputs) {
  write_quotients(inputs, [](float x, float scale) { return x * (1.0F / scale); });
}

void write_through_fp16(const KvWriteInputs& inputs) {
  write_quotients(inputs, [](float x, float scale) {
    return static_cast<float>(reference::round_to(x / scale, ElementType::kFp16));
  });
}

void write_512_tokens(const KvWriteInputs& inputs) {
  KvWriteInputs wrong = inputs;
  const std::size_t tokens = std::min<std::size_t>(512, inputs.slot_mapping.size());
  wrong.slot_mapping = inputs.slot_mapping.first(tokens);
  reference::write_kv(wrong);
}

CallOutcome end_in_512_tokens(const KvWriteInputs& inputs) {
  if (inputs.slot_mapping.size() >= 512) return Failed{"SIGSEGV", "ended by SIGSEGV"};
  reference::write_kv(inputs);
  return Done{};
}

void throw_in_512_tokens(const KvWriteInputs& inputs) {
  if (inputs.slot_mapping.size() >= 512) throw std::runtime_error("too many tokens");
  reference::write_kv(inputs);
}

// Like a library that ends its process after an earlier call.
CallOutcome end_after_another(const KvWriteInputs& inputs) {
  static std::vector<std::int64_t> last;
  const std::vector<std::int64_t> slots(inputs.slot_mapping.begin(), inputs.slot_mapping.end());
  const bool is_another = slots != last && slots.size() == last.size();
  last = slots;
  if (is_another) return Failed{"SIGSEGV", "ended by SIGSEGV"};
  reference::write_kv(inputs);
  return Done{};
}

// Reuses the slots while the number of tokens and the pools' shape stay the same.
void write_by_plan(const KvWriteInputs& inputs) {
  static std::vector<std::int64_t> planned;
  static std::vector<std::int64_t> slots;
  const MutableKvTensorView& cache = inputs.kv.k;
  const std::vector<std::int64_t> sizes = {std::ssize(inputs.slot_mapping), cache.num_blocks,
                                           cache.block_size, cache.block_stride};
  if (sizes != planned) slots.assign(inputs.slot_mapping.begin(), inputs.slot_mapping.end());
  planned = sizes;
  KvWriteInputs wrong = inputs;
  wrong.slot_mapping = slots;
  reference::write_kv(wrong);
}

TEST_CASE("the reference's write keeps the law; backends without a write are skipped") {
  const LawReport report = report_of(reference::write_kv);
  INFO(report.table());
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].held > 40);
  CHECK(report.counts[0].skipped.at("blocks of 48") > 0);
  CHECK(report.counts[1].ran() == 0);
  CHECK(report.counts[1].skipped.at("it writes no K and V") > 40);
}

TEST_CASE("a write with one fault breaks the law") {
  for (const Write write : {write_last_slot_again, write_to_nowhere, write_keys_alone,
                            write_unscaled, write_all_but_the_last, write_ties_up,
                            write_by_reciprocal, write_through_fp16, write_512_tokens}) {
    const LawReport report = report_of(write);
    CHECK(report.failed() > 0);
    REQUIRE(report.failures.size() == 1);
    INFO(report.failures[0]);
    CHECK((report.failures[0].find("\nagainst the reference's write") != std::string::npos));
    CHECK((report.failures[0].find(" of the pool of ") != std::string::npos));
    CHECK((report.failures[0].find(" wrong, first in block ") != std::string::npos));
  }
}

TEST_CASE("a failure of a lengthened write names the sequence that is longer") {
  const std::string failure = report_of(write_512_tokens).failures.at(0);
  INFO(failure);
  CHECK((failure.find("\nagainst the reference's write, with sequence ") != std::string::npos));
  CHECK((failure.find(" tokens longer\n") != std::string::npos));
}

TEST_CASE("a failed write is reported with how its input differs from the case, and its slots") {
  const std::string crash = report_of_call(end_in_512_tokens).failures.at(0);
  INFO(crash);
  CHECK((crash.find("\na call failed\n  ended by SIGSEGV\n  in the write, with sequence ") !=
         std::string::npos));
  CHECK((crash.find(" tokens longer\n  slots      of ") != std::string::npos));
  const std::string thrown = report_of(throw_in_512_tokens, 0).failures.at(0);
  INFO(thrown);
  CHECK((thrown.find("\n  too many tokens\n  in the write, with sequence ") != std::string::npos));
  const std::string other = report_of_call(end_after_another, 0).failures.at(0);
  INFO(other);
  CHECK((other.find("in the write, of one of as many tokens, with other values and slots\n  slots "
                    "     of ") != std::string::npos));
}

TEST_CASE("slots cached by the sizes of a write are caught by another write of these sizes") {
  // Without shrinking: its trials are writes of equal sizes, too.
  const LawReport report = report_of(write_by_plan, 0);
  CHECK(report.failed() > 30);
  INFO(report.failures.at(0));
  CHECK((report.failures[0].find(" one of as many tokens, with other values and slots\n") !=
         std::string::npos));
}

TEST_CASE("a row of slot -1 that is written is named with the slot that it was written to") {
  const std::string failure = report_of(write_to_nowhere).failures.at(0);
  INFO(failure);
  CHECK((failure.find(" has slot -1, and was written to block 0, slot 0, which ") !=
         std::string::npos));
  CHECK((report_of(write_keys_alone).failures.at(0).find("slot -1") == std::string::npos));
}

}  // namespace
}  // namespace recto::verify
