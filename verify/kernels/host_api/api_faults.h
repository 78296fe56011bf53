#pragma once

// The faults that are common to views, tables and spans, wherever they appear.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "cuda/workspace.h"
#include "verify/kernels/host_api/api_calls.h"

namespace recto::verify {

struct WalkFault {
  std::string field;  // of the call, see api_leaves.h
  std::string kind;
  std::function<void(WalkCall&)> plant;
  std::string message;  // the beginning of the message
};

// A view's place among a call's fields, and its name in refusals.
struct FaultNames {
  std::string leaf;
  std::string said;

  FaultNames of(const std::string& field) const { return {leaf + "." + field, said + "." + field}; }
};

template <typename View>
using FieldOf = std::function<View&(WalkCall&)>;

// The faults of one call.
class Faults {
 public:
  const std::vector<WalkFault>& all() const { return all_; }

  void add(const std::string& field, const std::string& kind, std::function<void(WalkCall&)> plant,
           const std::string& message) {
    all_.push_back({field, kind, std::move(plant), message});
  }

  // Sets the message for a field that refusals name differently from its neighbours.
  void say(const std::string& field, const std::string& message) {
    for (WalkFault& fault : all_) {
      if (fault.field == field) fault.message = message;
    }
  }

  // Adds a fault that is reported for the field itself.
  template <typename View, typename Value>
  void add(const FaultNames& names, const std::string& kind, const FieldOf<View>& view,
           Value View::*member, std::type_identity_t<Value> value) {
    add(
        names.leaf, kind, [=](WalkCall& call) { view(call).*member = value; },
        names.said + ": expected ");
  }

  template <typename View>
  void add_address(const FaultNames& names, const FieldOf<View>& view) {
    using Pointer = decltype(View::data);
    add(names.of("data"), "null", view, &View::data, nullptr);
    add(
        names.leaf + ".data", "misaligned",
        [=](WalkCall& call) {
          view(call).data =
              reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(view(call).data) + 1);
        },
        names.said + ".data: expected ");
  }

  template <typename View>
  void add_rows(const FaultNames& names, const FieldOf<View>& view) {
    add_address(names, view);
    add(names.of("type"), "type", view, &View::type, static_cast<ElementType>(77));
    add(names.of("num_rows"), "shape", view, &View::num_rows, -1);
    add(names.of("num_heads"), "shape", view, &View::num_heads, 0);
    add(names.of("head_dim"), "shape", view, &View::head_dim, 0);
    add(names.of("row_stride"), "stride", view, &View::row_stride, -1);
    add(names.of("head_stride"), "stride", view, &View::head_stride, -1);
  }

  template <typename View>
  void add_cache(const FaultNames& names, const FieldOf<View>& view) {
    add_address(names, view);
    add(names.of("type"), "type", view, &View::type, static_cast<ElementType>(77));
    add(names.of("layout"), "type", view, &View::layout, static_cast<KvLayout>(3));
    add(names.of("num_blocks"), "shape", view, &View::num_blocks, -1);
    add(names.of("block_size"), "shape", view, &View::block_size, 3);
    add(names.of("num_kv_heads"), "shape", view, &View::num_kv_heads, 0);
    add(names.of("head_dim"), "shape", view, &View::head_dim, 0);
    add(names.of("block_stride"), "stride", view, &View::block_stride, -1);
    add(names.of("head_stride"), "stride", view, &View::head_stride, -1);
    add(names.of("slot_stride"), "stride", view, &View::slot_stride, -1);
    add(names.of("pack_width"), "shape", view, &View::pack_width, 3);
    add(names.of("pack_stride"), "stride", view, &View::pack_stride, -1);
    const FieldOf<KvScale> scale = [=](WalkCall& call) -> KvScale& { return view(call).scale; };
    const FaultNames scales = {names.leaf + ".scale", names.said + ".scale"};
    static constexpr float kOne = 1;
    add(scales.of("kind"), "type", scale, &KvScale::kind, static_cast<ScaleKind>(7));
    add(scales.of("data"), "null", scale, &KvScale::data, &kOne);
  }

  void add_table(const FaultNames& names, const FieldOf<BlockTableView>& view) {
    add_address(names, view);
    add(names.of("num_seqs"), "shape", view, &BlockTableView::num_seqs, -1);
    add(names.of("max_blocks"), "shape", view, &BlockTableView::max_blocks, -1);
    add(names.of("row_stride"), "stride", view, &BlockTableView::row_stride, 1);
  }

  // `sized` is the message for one missing element.
  template <typename T>
  void add_span(const FaultNames& names, const FieldOf<std::span<T>>& values,
                const std::string& sized = "") {
    add(
        names.leaf + ".data", "null",
        [=](WalkCall& call) {
          values(call) = {static_cast<T*>(nullptr), values(call).size()};
        },
        names.said + ".data: expected an address, got null");
    add(
        names.leaf + ".data", "misaligned",
        [=](WalkCall& call) {
          const auto address = reinterpret_cast<std::uintptr_t>(values(call).data()) + 1;
          values(call) = {reinterpret_cast<T*>(address), values(call).size()};
        },
        names.said + ".data: expected a multiple of ");
    add(
        names.leaf + ".size", "shape",
        [=](WalkCall& call) { values(call) = values(call).first(values(call).size() - 1); },
        sized.empty() ? names.said + ".size: expected " : sized);
  }

  void add_workspace(const std::string& name, const FieldOf<Workspace>& workspace) {
    const FaultNames names = {name, "workspace"};
    add(names.of("bytes"), "workspace", workspace, &Workspace::bytes, 15);
    add(names.of("data"), "null", workspace, &Workspace::data, nullptr);
    add(
        name + ".data", "misaligned",
        [=](WalkCall& call) {
          workspace(call) = {static_cast<std::byte*>(workspace(call).data) + 8,
                             workspace(call).bytes};
        },
        "workspace.data: expected an address at a multiple of 16 bytes, got 8 bytes behind one");
    add(
        name + ".bytes", "workspace",
        [=](WalkCall& call) { workspace(call).bytes = std::numeric_limits<std::int64_t>::min(); },
        "workspace.bytes: expected at least ");
  }

 private:
  std::vector<WalkFault> all_;
};

}  // namespace recto::verify
