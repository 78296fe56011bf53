// Bad input, field by field: the calls that move K and V.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cuda/kernels/gather.h"
#include "verify/kernels/host_api/bad_input_walk.h"

namespace recto::verify {
namespace {

const std::vector<std::string> kKinds = {"shape",     "stride",      "type",
                                         "null",      "misaligned",  "overlap",
                                         "workspace", "unsupported", "contents"};

void add_op_options(Faults& faults) {
  faults.add(
      "options.contents_check", "type",
      [](auto& c) { c.options.contents_check = static_cast<ContentsCheck>(4); },
      "options.contents_check: expected one of ContentsCheck, got 4");
  faults.add_workspace("options.workspace", RECTO_FIELD(Workspace, options.workspace));
}

TEST_CASE("run_kv_write refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_rows({"k", "k"}, RECTO_FIELD(RowsView, write.k));
  faults.add_rows({"v", "v"}, RECTO_FIELD(RowsView, write.v));
  faults.add_cache({"kv.k", "kv.k"}, RECTO_FIELD(MutableKvTensorView, write.kv.k));
  faults.add_cache({"kv.v", "kv.v"}, RECTO_FIELD(MutableKvTensorView, write.kv.v));
  faults.add_span({"slot_mapping", "slot_mapping"},
                  RECTO_FIELD(std::span<const std::int64_t>, write.slot_mapping),
                  "k.num_rows: expected 2 as in slot_mapping.size, got 3");
  faults.add(
      "repeated", "type", [](auto& c) { c.repeated = static_cast<kernels::RepeatedSlots>(2); },
      "repeated_slots: expected one of RepeatedSlots, got 2");
  add_op_options(faults);
  faults.add(
      "k.data", "overlap", [](auto& c) { c.write.k.data = c.api.k.data(); },
      "k.data: expected memory apart from kv.k at [");
  faults.add(
      "options.workspace.data", "overlap",
      [](auto& c) { c.options.workspace.data = c.api.v.data(); },
      "workspace.data: expected memory apart from kv.v at [");
  faults.add(
      "k.type", "unsupported",
      [](auto& c) { c.write.k.type = c.write.v.type = ElementType::kBf16; },
      "kv.k.type: expected one of bf16, e4m3, e5m2 as k.type is bf16, got fp16");
  faults.add(
      "slot_mapping.data", "contents", [](auto& c) { c.slots[1] = kBlocks * kBlockSize; },
      "slot_mapping[1]: expected -1, or a slot id below ");
  const LeafWalk w;
  walk({.run =
            [](WalkCall& c, simt::Stream& stream) {
              return run_kv_write(c.write, c.repeated, c.options, &stream);
            },
        .fields = joined(
            {leaves(w, "", KvWriteInputs()), {"repeated"}, leaves(w, "options", CacheOpOptions())}),
        .free = {},
        .kinds = kKinds},
       faults);
}

// Any number of pairs that fits in memory is valid.
void add_copies(Faults& faults) {
  faults.add(
      "copies.data", "null",
      [](auto& c) {
        c.copies = {static_cast<const BlockPair*>(nullptr), 2};
      },
      "copies.data: expected an address, got null");
  faults.add(
      "copies.data", "misaligned",
      [](auto& c) {
        const auto address = reinterpret_cast<std::uintptr_t>(c.copies.data()) + 2;
        c.copies = {reinterpret_cast<const BlockPair*>(address), 1};
      },
      "copies.data: expected a multiple of 4 bytes, got 0x");
  faults.add(
      "copies.size", "shape",
      [](auto& c) {
        c.copies = {c.copies.data(), std::size_t{1} << 60};
      },
      "copies.size: expected an extent below 2^63 bytes");
}

TEST_CASE("run_block_copy refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_cache({"kv.k", "kv.k"}, RECTO_FIELD(MutableKvTensorView, copied.k));
  faults.add_cache({"kv.v", "kv.v"}, RECTO_FIELD(MutableKvTensorView, copied.v));
  add_copies(faults);
  add_op_options(faults);
  faults.add(
      "copies.data", "overlap",
      [](auto& c) {
        c.copies = {reinterpret_cast<const BlockPair*>(c.api.k.data()), 1};
      },
      "copies.data: expected memory apart from kv.k at [");
  faults.add(
      "copies.data", "overlap", [](auto& c) { c.options.workspace.data = c.copied.v.data; },
      "workspace.data: expected memory apart from kv.v at [");
  faults.add(
      "kv.k.block_size", "unsupported",
      [](auto& c) {
        for (MutableKvTensorView* tensor : {&c.copied.k, &c.copied.v}) {
          tensor->num_blocks = tensor->num_kv_heads = 1;
          tensor->block_size = 1 << 26;
        }
        c.copied.k.data = reinterpret_cast<void*>(std::uintptr_t{1} << 60);
        c.copied.v.data = reinterpret_cast<void*>(std::uintptr_t{1} << 61);
      },
      "from.k.block_size: expected at most 33554430, got 67108864");
  faults.add(
      "copies.data", "contents", [](auto& c) { c.pairs[1].destination = kBlocks; },
      "copies[1].destination: expected a block id from 0 to below ");
  const LeafWalk w;
  walk({.run =
            [](WalkCall& c, simt::Stream& stream) {
              return run_block_copy(c.copied, c.copies, c.options, &stream);
            },
        .fields = joined({leaves(w, "kv", MutablePagedKvView()),
                          leaves(w, "copies", std::span<const BlockPair>()),
                          leaves(w, "options", CacheOpOptions())}),
        .free = {},
        .kinds = kKinds},
       faults);
}

TEST_CASE("run_block_swap refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_cache({"from.k", "from.k"}, RECTO_FIELD(KvTensorView, from.k));
  faults.add_cache({"from.v", "from.v"}, RECTO_FIELD(KvTensorView, from.v));
  faults.add_cache({"to.k", "to.k"}, RECTO_FIELD(MutableKvTensorView, to.k));
  faults.add_cache({"to.v", "to.v"}, RECTO_FIELD(MutableKvTensorView, to.v));
  add_copies(faults);
  add_op_options(faults);
  faults.add(
      "to.k.data", "overlap", [](auto& c) { c.to.k.data = c.api.k.data(); },
      "to.k.data: expected memory apart from from.k at [");
  faults.add(
      "copies.data", "overlap",
      [](auto& c) {
        c.copies = {reinterpret_cast<const BlockPair*>(c.other_v.data()), 1};
      },
      "copies.data: expected memory apart from to.v at [");
  faults.add(
      "to.k.type", "unsupported", [](auto& c) { c.to.k.type = c.to.v.type = ElementType::kBf16; },
      "to.k.type: expected fp16 as in from.k.type, got bf16");
  faults.add(
      "copies.data", "contents", [](auto& c) { c.pairs[0].source = -1; },
      "copies[0].source: expected a block id from 0 to below from.k.num_blocks");
  const LeafWalk w;
  walk({.run =
            [](WalkCall& c, simt::Stream& stream) {
              return run_block_swap(c.from, c.to, c.copies, c.options, &stream);
            },
        .fields = joined({leaves(w, "from", PagedKvView()), leaves(w, "to", MutablePagedKvView()),
                          leaves(w, "copies", std::span<const BlockPair>()),
                          leaves(w, "options", CacheOpOptions())}),
        .free = {},
        .kinds = kKinds},
       faults);
}

void add_gathered(Faults& faults) {
  faults.add(
      "max_context_length", "shape", [](auto& c) { c.max_context_length = -1; },
      "max_context_length: expected at least 0, got -1");
  faults.add(
      "max_context_length", "unsupported",
      [](auto& c) { c.max_context_length = kernels::kGatheredMax + 1; },
      "max_context_length: expected at most 2097120, got 2097121");
  faults.add(
      "k.data", "overlap", [](auto& c) { c.gather.k.data = c.api.v.data(); },
      "k.data: expected memory apart from kv.v at [");
  faults.add(
      "options.workspace.data", "overlap",
      [](auto& c) { c.options.workspace.data = c.gathered_k.data(); },
      "workspace.data: expected memory apart from k at [");
  faults.add(
      "context_length.data", "contents", [](auto& c) { c.max_context_length = 32; },
      "context_length[2]: expected at most max_context_length = 32, got 33");
  faults.add(
      "block_table.data", "contents", [](auto& c) { c.api.batch.block_table[7] = 99; },
      "block_table[2][1]: expected a block id");
  faults.add(
      "context_start.data", "contents", [](auto& c) { c.starts[1] = -1; },
      "context_start[1]: expected 0 to k.num_rows - context_length[1] = 53, got -1");
  faults.add(
      "context_start.data", "contents", [](auto& c) { c.starts[2] = 22; },
      "context_start[2]: expected 0 to k.num_rows - context_length[2] = 21, got 22");
  faults.add(
      "context_start.data", "contents", [](auto& c) { c.starts[2] = 20; },
      "context_start[2]: expected rows apart from those of sequence 1, got 20");
  faults.add(
      "context_start.data", "contents", [](auto& c) { c.starts[1] = 19; },
      "context_start[1]: expected rows apart from those of sequence 0, got 19");
}

TEST_CASE("run_gather refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_cache({"kv.k", "kv.k"}, RECTO_FIELD(KvTensorView, gather.kv.k));
  faults.add_cache({"kv.v", "kv.v"}, RECTO_FIELD(KvTensorView, gather.kv.v));
  faults.add_table({"block_table", "block_table"}, RECTO_FIELD(BlockTableView, gather.block_table));
  faults.add_span({"context_length", "context_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, gather.context_length));
  faults.add_span({"context_start", "context_start"},
                  RECTO_FIELD(std::span<const std::int64_t>, gather.context_start));
  faults.add_rows({"k", "k"}, RECTO_FIELD(MutableRowsView, gather.k));
  faults.add_rows({"v", "v"}, RECTO_FIELD(MutableRowsView, gather.v));
  add_op_options(faults);
  add_gathered(faults);
  const LeafWalk w;
  walk({.run =
            [](WalkCall& c, simt::Stream& stream) {
              return run_gather(c.gather, c.max_context_length, c.options, &stream);
            },
        .fields = joined({leaves(w, "", GatherInputs()),
                          {"max_context_length"},
                          leaves(w, "options", CacheOpOptions())}),
        .free = {},
        .kinds = kKinds},
       faults);
}

}  // namespace
}  // namespace recto::verify
