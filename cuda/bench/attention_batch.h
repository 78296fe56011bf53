#pragma once

// A batch of sequences on the device: random numbers in blocks at random places.

#include <cstdint>

#include "core/attention_views.h"
#include "core/dense_kv_view.h"
#include "core/status.h"
#include "cuda/bench/batch_shape.h"
#include "cuda/bench/device.h"

namespace recto::bench {

class AttentionBatch {
 public:
  // Check status() before anything else: there may be too little memory. Another `seed` gives other
  // numbers in other blocks.
  explicit AttentionBatch(const BatchShape& shape, std::uint64_t seed = 1);

  Status status() const { return status_; }
  const BatchShape& shape() const { return shape_; }
  PagedAttentionInputs inputs() const;
  AttentionOutputs outputs() const;
  const MutablePagedKvView& kv() const { return kv_; }

 private:
  Status fill(std::uint64_t seed);
  Status make_views();
  template <typename Pointer>
  BasicRowsView<Pointer> rows(const DeviceBytes& memory) const;  // of q, or of out

  BatchShape shape_;
  DeviceBytes k_;
  DeviceBytes v_;
  DeviceBytes q_;
  DeviceBytes out_;
  DeviceBytes lse_ln_;
  DeviceBytes table_;
  DeviceBytes query_start_;
  DeviceBytes context_length_;
  DeviceBytes scale_;
  MutablePagedKvView kv_;
  Status status_;
};

}  // namespace recto::bench
