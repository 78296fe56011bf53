// The contents check on the device also covers the scales of fp8 caches: in every call that has
// scales, one that is zero, negative or not finite is refused, naming its head, before anything is
// written.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "cuda/cache_ops.h"
#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {
namespace {

// The pools of a call, reinterpreted as fp8 codes: half of their bytes.
struct ScaledCall {
  ScaledCall() {
    for (MutableKvTensorView* tensor : {&call.step.kv.k, &call.step.kv.v}) {
      tensor->type = ElementType::kE4m3;
    }
    call.step.kv.k.scale = {.kind = ScaleKind::kPerKvHead, .data = k.data()};
    call.step.kv.v.scale = {.kind = ScaleKind::kPerTensor, .data = v.data()};
    call.inputs.kv = as_const(call.step.kv);
    // Reference decode supports all types.
    call.options.kernel = AttentionKernel::kReferenceDecode;
    call.plan = plan_attention(call.inputs, call.options).value();
    call.step_plan = plan_decode_step(call.step, call.options).value();
    other = pool_view(other_codes, other_codes);
    other.v.data = other_codes.data() + kPoolSize;
    other.k.type = other.v.type = ElementType::kE4m3;
    other.k.scale = {.kind = ScaleKind::kPerKvHead, .data = other_k.data()};
    other.v.scale = {.kind = ScaleKind::kPerTensor, .data = other_v.data()};
    gathered = dense_rows<void*>(rows_codes.data(), ElementType::kE4m3, 60, kHeads, kDim);
    options = {.contents_check = ContentsCheck::kOnDevice, .workspace = call.workspace};
  }
  ScaledCall(const ScaledCall&) = delete;
  ScaledCall& operator=(const ScaledCall&) = delete;

  std::vector<std::uint16_t> written() {
    std::vector<std::uint16_t> codes = call.written();
    for (std::int64_t i = 0; i < 2 * kPoolSize; ++i) codes.push_back(other_codes[i]);
    for (std::int64_t i = 0; i < 60 * kHeads * kDim; ++i) codes.push_back(rows_codes[i]);
    return codes;
  }

  ApiCall call;
  std::vector<float> k = {0.5F, 2.0F};
  std::vector<float> v = {0.25F};
  std::vector<float> other_k = {0.5F, 2.0F};
  std::vector<float> other_v = {0.25F};
  DeviceCodes other_codes{2 * kPoolSize};
  DeviceCodes rows_codes{60 * kHeads * kDim};
  MutablePagedKvView other;
  MutableRowsView gathered;
  CacheOpOptions options;
  std::vector<std::int64_t> slots = {3, 20, 40};
  std::vector<BlockPair> pairs = {{5, 0}, {4, 3}};
  std::vector<std::int64_t> starts = {0, 20, 21};
};

using ScaledRun = Status (*)(ScaledCall& scaled, simt::Stream& stream);

Status attend(ScaledCall& scaled, simt::Stream& stream) { return run_call(scaled.call, stream); }
Status step(ScaledCall& scaled, simt::Stream& stream) { return run_step(scaled.call, stream); }
Status write(ScaledCall& scaled, simt::Stream& stream) {
  return run_kv_write({.k = scaled.call.step.new_k,
                       .v = scaled.call.step.new_v,
                       .slot_mapping = scaled.slots,
                       .kv = scaled.call.step.kv},
                      kernels::RepeatedSlots::kNone, scaled.options, &stream);
}
Status gather(ScaledCall& scaled, simt::Stream& stream) {
  MutableRowsView v = scaled.gathered;
  v.data = static_cast<std::byte*>(v.data) + 60 * kHeads * kDim;
  return run_gather({.kv = scaled.call.inputs.kv,
                     .block_table = scaled.call.inputs.block_table,
                     .context_length = scaled.call.batch.context_length,
                     .context_start = scaled.starts,
                     .k = scaled.gathered,
                     .v = v},
                    48, scaled.options, &stream);
}
Status swap(ScaledCall& scaled, simt::Stream& stream) {
  return run_block_swap(scaled.call.inputs.kv, scaled.other, scaled.pairs, scaled.options, &stream);
}

void expect_scale_refused(ScaledRun run, void (*plant)(ScaledCall&), const std::string& message) {
  INFO(message);
  simt::Executor executor({});
  ScaledCall scaled;
  plant(scaled);
  const std::vector<std::uint16_t> before = scaled.written();
  simt::Stream stream(executor);
  CHECK(run(scaled, stream) == Status::invalid_input(message));
  CHECK(stream.synchronise().passed());
  CHECK((scaled.written() == before));
}

TEST_CASE("valid scales are accepted by every call") {
  simt::Executor executor({});
  for (const ScaledRun run : {attend, step, write, gather, swap}) {
    ScaledCall scaled;
    scaled.k = {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()};
    scaled.call.step.kv.k.scale.data = scaled.k.data();
    scaled.call.inputs.kv.k.scale.data = scaled.k.data();
    RandomStream random(7);
    scaled.call.k.draw(random);
    const std::vector<std::uint16_t> before = scaled.written();
    simt::Stream stream(executor);
    CHECK(run(scaled, stream) == Status::ok());
    CHECK(stream.synchronise().passed());
    CHECK((scaled.written() != before));
  }
}

TEST_CASE("a scale that is zero, negative or not finite is refused by its head") {
  const std::string expected = ": expected a finite number above 0, got ";
  for (const ScaledRun run : {attend, step, write, gather}) {
    expect_scale_refused(
        run, [](auto& s) { s.k[1] = 0.0F; }, "kv.k.scale[1]" + expected + "0");
    expect_scale_refused(
        run, [](auto& s) { s.k[0] = -0.0F; }, "kv.k.scale[0]" + expected + "-0");
    expect_scale_refused(
        run, [](auto& s) { s.k[0] = s.k[1] = -2.5F; }, "kv.k.scale[0]" + expected + "-2.5");
    expect_scale_refused(
        run, [](auto& s) { s.v[0] = std::numeric_limits<float>::infinity(); },
        "kv.v.scale[0]" + expected + "inf");
    expect_scale_refused(
        run, [](auto& s) { s.v[0] = std::numeric_limits<float>::quiet_NaN(); },
        "kv.v.scale[0]" + expected + "nan");
  }
  const auto swapped = [&](void (*plant)(ScaledCall&), const std::string& field) {
    expect_scale_refused(swap, plant, field + expected + "0");
  };
  swapped([](auto& s) { s.k[1] = 0; }, "from.k.scale[1]");
  swapped([](auto& s) { s.v[0] = 0; }, "from.v.scale[0]");
  swapped([](auto& s) { s.other_k[0] = 0; }, "to.k.scale[0]");
  swapped([](auto& s) { s.other_v[0] = 0; }, "to.v.scale[0]");
}

TEST_CASE("scales are not checked without a check of contents, nor in caches without scales") {
  simt::Executor executor({});
  ScaledCall scaled;
  scaled.k = {0.0F, 0.0F};
  scaled.options = {};
  simt::Stream stream(executor);
  CHECK(write(scaled, stream) == Status::ok());
  CHECK(stream.synchronise().passed());
}

}  // namespace
}  // namespace recto::verify
