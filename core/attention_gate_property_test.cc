// Random valid calls pass the gates; a single fault in any of them is refused.

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bazel/testing/property.h"
#include "core/attention_gate.h"
#include "core/dense_kv_view.h"

namespace recto {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void* address(std::int64_t value) { return reinterpret_cast<void*>(value); }

// Tables and lengths are real memory; tensors have addresses that the gates never read.
struct AnyCall {
  std::vector<std::int32_t> table;
  std::vector<std::int32_t> query_start{0};
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> slots;
  std::vector<float> per_q_head;
  std::vector<float> scales;
  std::vector<float> lse_ln;
  PagedAttentionInputs inputs;
  AttentionOutputs outputs;
  KvWriteInputs write;

  Status check() const {
    RECTO_RETURN_IF_ERROR(check_shapes(inputs, outputs));
    RECTO_RETURN_IF_ERROR(check_contents(inputs));
    RECTO_RETURN_IF_ERROR(check_shapes(write));
    return check_contents(write);
  }
};

template <typename Pointer>
BasicRowsView<Pointer> draw_rows(Draw& draw, std::int64_t data, std::int64_t rows,
                                 std::int64_t heads, std::int64_t dim) {
  BasicRowsView<Pointer> view{.data = address(data),
                              .type = ElementType::kFp32,
                              .num_rows = rows,
                              .num_heads = heads,
                              .head_dim = dim};
  if (draw.boolean()) {
    view.head_stride = dim + draw.growing(0, 8);
    view.row_stride = heads * view.head_stride + draw.growing(0, 8);
  } else {
    view.row_stride = dim + draw.growing(0, 8);
    view.head_stride = rows * view.row_stride + draw.growing(0, 8);
  }
  return view;
}

// A pool by itself, or one layer of a buffer [num_blocks, num_layers, K and V].
MutablePagedKvView draw_pool(Draw& draw, ElementType type) {
  KvPoolShape shape;
  shape.layout = draw.element({KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked});
  shape.type = type;
  shape.num_blocks = draw.growing(1, 9);
  shape.block_size = draw.element<std::int64_t>({1, 2, 4, 8, 16, 32, 48});
  shape.num_kv_heads = draw.growing(1, 4);
  shape.head_dim_k = packed_width_k(type) * draw.growing(1, 5);
  shape.head_dim_v = draw.growing(1, 20);
  MutablePagedKvView kv = dense_kv_view(shape, address(1 << 24), address(1 << 25)).value();
  if (draw.boolean()) return kv;
  const std::int64_t layer = kv.k.block_stride + kv.v.block_stride;
  const std::int64_t num_layers = draw.growing(1, 3);
  const std::int64_t first = draw.growing(0, num_layers - 1) * layer;
  kv.k.data = address((1 << 24) + element_bytes(type) * first);
  kv.v.data = address((1 << 24) + element_bytes(type) * (first + kv.k.block_stride));
  kv.k.block_stride = kv.v.block_stride = num_layers * layer;
  return kv;
}

void draw_batch(Draw& draw, AnyCall& call, const MutablePagedKvView& kv) {
  const std::int64_t num_seqs = draw.growing(1, 4);
  const std::int64_t max_blocks = draw.growing(1, 5);
  const std::int64_t row_stride = max_blocks + draw.growing(0, 3);
  call.table.assign(static_cast<std::size_t>(num_seqs * row_stride), -1);
  for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
    // The first sequence has at least one row and a context, so that every fault has something to
    // break.
    const std::int64_t least = seq == 0 ? 1 : 0;
    const std::int64_t length = draw.growing(least, max_blocks * kv.k.block_size);
    call.lengths.push_back(static_cast<std::int32_t>(length));
    call.query_start.push_back(call.query_start.back() +
                               static_cast<std::int32_t>(draw.growing(least, 5)));
    for (std::int64_t i = 0; i * kv.k.block_size < length; ++i) {
      call.table[static_cast<std::size_t>(seq * row_stride + i)] =
          static_cast<std::int32_t>(draw.growing(0, kv.k.num_blocks - 1));
    }
  }
  call.inputs.block_table = {call.table.data(), num_seqs, max_blocks, row_stride};
  call.inputs.query_start = call.query_start;
  call.inputs.context_length = call.lengths;
  call.slots = {-1, kv.k.num_blocks * kv.k.block_size - 1};
  call.slots.push_back(draw.growing(0, call.slots.back()));
}

std::unique_ptr<AnyCall> draw_call(Draw& draw) {
  auto call = std::make_unique<AnyCall>();
  const auto [q_type, kv_type] = draw.element<std::pair<ElementType, ElementType>>(
      {std::pair(ElementType::kFp32, ElementType::kFp32),
       std::pair(ElementType::kFp16, ElementType::kFp16),
       std::pair(ElementType::kBf16, ElementType::kE4m3),
       std::pair(ElementType::kFp16, ElementType::kE5m2)});
  MutablePagedKvView kv = draw_pool(draw, kv_type);
  const std::int64_t num_heads = kv.k.num_kv_heads * draw.growing(1, 4);
  draw_batch(draw, *call, kv);
  call->scales.assign(static_cast<std::size_t>(kv.k.num_kv_heads), 0.5F);
  call->per_q_head.assign(static_cast<std::size_t>(num_heads), -0.25F);
  const std::int64_t num_rows = call->query_start.back();
  call->lse_ln.resize(static_cast<std::size_t>(num_rows * num_heads));
  if (is_fp8(kv_type)) {
    for (MutableKvTensorView* tensor : {&kv.k, &kv.v}) {
      const ScaleKind kind = draw.element({ScaleKind::kPerTensor, ScaleKind::kPerKvHead});
      tensor->scale = {kind, call->scales.data()};
    }
  }
  call->inputs.q = draw_rows<const void*>(draw, 1 << 20, num_rows, num_heads, kv.k.head_dim);
  call->inputs.q.type = q_type;
  call->inputs.kv = as_const(kv);
  call->inputs.options = {
      .window = draw.growing(1, 9), .alibi_slopes = call->per_q_head, .sinks = call->per_q_head};
  call->outputs.out = draw_rows<void*>(draw, 1 << 21, num_rows, num_heads, kv.v.head_dim);
  call->outputs.out.type = q_type;
  call->outputs.lse_ln = call->lse_ln;
  const auto num_tokens = std::ssize(call->slots);
  call->write = {
      .k = draw_rows<const void*>(draw, 1 << 22, num_tokens, kv.k.num_kv_heads, kv.k.head_dim),
      .v = draw_rows<const void*>(draw, 1 << 23, num_tokens, kv.k.num_kv_heads, kv.v.head_dim),
      .slot_mapping = call->slots,
      .kv = kv};
  call->write.k.type = call->write.v.type = q_type;
  return call;
}

using Fault = void (*)(AnyCall&);

// Each fault makes any call invalid.
const std::vector<Fault> kFaults = {
    [](AnyCall& c) { c.inputs.q.data = nullptr; },
    [](AnyCall& c) { c.inputs.q.data = address((1 << 20) + 1); },
    [](AnyCall& c) { c.inputs.q.data = address(-64); },
    [](AnyCall& c) { c.inputs.q.num_rows = -1; },
    [](AnyCall& c) { ++c.inputs.q.num_rows; },
    [](AnyCall& c) { c.inputs.q.num_rows = kMax; },
    [](AnyCall& c) { c.inputs.q.num_heads = 0; },
    [](AnyCall& c) { c.inputs.q.num_heads += c.inputs.kv.k.num_kv_heads; },
    [](AnyCall& c) { ++c.inputs.q.head_dim; },
    [](AnyCall& c) { c.inputs.q.row_stride = -1; },
    [](AnyCall& c) { c.inputs.q.head_stride = std::numeric_limits<std::int64_t>::min(); },
    [](AnyCall& c) { c.inputs.q.type = ElementType::kE4m3; },
    [](AnyCall& c) { c.inputs.q.type = static_cast<ElementType>(77); },
    [](AnyCall& c) { c.inputs.kv.k.type = static_cast<ElementType>(5); },
    [](AnyCall& c) { c.inputs.kv.v.layout = static_cast<KvLayout>(9); },
    [](AnyCall& c) { c.inputs.kv.v.scale.kind = static_cast<ScaleKind>(9); },
    [](AnyCall& c) { c.inputs.kv.k.data = nullptr; },
    [](AnyCall& c) { ++c.inputs.kv.v.num_blocks; },
    [](AnyCall& c) { c.inputs.kv.v.block_size *= 2; },
    [](AnyCall& c) { c.inputs.kv.k.block_size = 0; },
    [](AnyCall& c) { c.inputs.kv.k.block_size = kMax; },
    [](AnyCall& c) { c.inputs.kv.k.num_blocks = kMax; },
    [](AnyCall& c) { c.inputs.kv.k.num_kv_heads = kMax; },
    [](AnyCall& c) { c.inputs.kv.v.num_kv_heads = 0; },
    [](AnyCall& c) { c.inputs.kv.k.head_dim = kMax; },
    [](AnyCall& c) { c.inputs.kv.v.block_stride = -1; },
    [](AnyCall& c) {
      ++c.inputs.kv.k.num_blocks;
      ++c.inputs.kv.v.num_blocks;
      c.inputs.kv.v.block_stride = 0;
    },
    [](AnyCall& c) { c.inputs.kv.k.pack_width = 3; },
    [](AnyCall& c) { c.inputs.kv.k.pack_stride = -1; },
    [](AnyCall& c) {
      c.inputs.kv.k.scale = {ScaleKind::kPerTensor, nullptr};
    },
    [](AnyCall& c) {
      c.inputs.kv.k.scale = {ScaleKind::kNone, c.per_q_head.data()};
    },
    [](AnyCall& c) { c.inputs.block_table.data = nullptr; },
    [](AnyCall& c) { c.inputs.block_table.row_stride = c.inputs.block_table.max_blocks - 1; },
    [](AnyCall& c) { c.inputs.block_table.max_blocks = -1; },
    [](AnyCall& c) { ++c.inputs.block_table.num_seqs; },
    [](AnyCall& c) { c.inputs.block_table.num_seqs = kMax; },
    [](AnyCall& c) {
      // One row per sequence, except for this fault.
      c.inputs.query_start = {};
      c.inputs.q.num_rows = c.inputs.block_table.num_seqs + 1;
    },
    [](AnyCall& c) { c.inputs.context_length = c.inputs.context_length.subspan(1); },
    [](AnyCall& c) { c.inputs.options.scale = kNaN; },
    [](AnyCall& c) { c.inputs.options.softcap = -1; },
    [](AnyCall& c) { c.inputs.options.window = 0; },
    [](AnyCall& c) {
      c.inputs.options.sinks = {c.per_q_head.data(), c.per_q_head.size() + 1};
    },
    [](AnyCall& c) { c.outputs.out.data = nullptr; },
    [](AnyCall& c) { c.outputs.out.data = const_cast<void*>(c.inputs.q.data); },
    [](AnyCall& c) { c.outputs.out.data = const_cast<void*>(c.inputs.kv.k.data); },
    [](AnyCall& c) { c.outputs.out.data = const_cast<void*>(c.inputs.kv.v.data); },
    [](AnyCall& c) { c.outputs.out.data = c.lse_ln.data(); },
    [](AnyCall& c) { ++c.outputs.out.num_heads; },
    [](AnyCall& c) { ++c.outputs.out.head_dim; },
    [](AnyCall& c) {
      c.outputs.lse_ln = {c.lse_ln.data(), c.lse_ln.size() + 1};
    },
    [](AnyCall& c) { c.query_start[0] = 1; },
    [](AnyCall& c) { c.query_start[1] = -1; },
    [](AnyCall& c) { ++c.query_start.back(); },
    [](AnyCall& c) { c.lengths.back() = -1; },
    [](AnyCall& c) { c.lengths.back() = std::numeric_limits<std::int32_t>::max(); },
    [](AnyCall& c) { c.table[0] = -1; },
    [](AnyCall& c) { c.table[0] = static_cast<std::int32_t>(c.inputs.kv.k.num_blocks); },
    [](AnyCall& c) {
      // In the last block of a context that ends at the block's end.
      const BlockTableView& table = c.inputs.block_table;
      c.lengths[0] = static_cast<std::int32_t>(table.max_blocks * c.inputs.kv.k.block_size);
      for (std::int64_t i = 0; i < table.max_blocks; ++i) c.table[static_cast<std::size_t>(i)] = 0;
      c.table[static_cast<std::size_t>(table.max_blocks - 1)] = -1;
    },
    [](AnyCall& c) { c.per_q_head.back() = kNaN; },
    [](AnyCall& c) { c.write.kv.v.data = c.write.kv.k.data; },
    [](AnyCall& c) { c.write.k.data = c.write.kv.k.data; },
    [](AnyCall& c) { c.write.v.data = c.write.kv.v.data; },
    [](AnyCall& c) { c.write.slot_mapping = c.write.slot_mapping.subspan(1); },
    [](AnyCall& c) { c.slots[0] = -2; },
    [](AnyCall& c) { ++c.slots[1]; },
};

TEST_CASE("random valid calls pass, and a random call with one fault is refused") {
  property("valid ones pass", [](Draw& draw) {
    const Status status = draw_call(draw)->check();
    if (!status.is_ok()) fail_case(status.message());
  });
  property("one fault is refused, by field, expectation and value", [](Draw& draw) {
    const auto call = draw_call(draw);
    const std::size_t fault = draw.growing<std::size_t>(0, kFaults.size() - 1);
    kFaults[fault](*call);
    const Status status = call->check();
    RECTO_REQUIRE(status.code() == StatusCode::kInvalidInput);
    RECTO_REQUIRE(status.message().find(": expected ") != std::string::npos);
    RECTO_REQUIRE(status.message().find(", got ") != std::string::npos);
  });
}

TEST_CASE("each fault is refused in calls of every kind") {
  for (std::size_t fault = 0; fault < kFaults.size(); ++fault) {
    property("fault " + std::to_string(fault), [fault](Draw& draw) {
      const auto call = draw_call(draw);
      kFaults[fault](*call);
      RECTO_REQUIRE(!call->check().is_ok());
    });
  }
}

}  // namespace
}  // namespace recto
