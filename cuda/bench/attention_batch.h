#pragma once

// A batch of sequences of one length on the device, random numbers in random blocks.

#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/dense_kv_view.h"
#include "core/status.h"
#include "cuda/bench/device.h"

namespace recto::bench {

struct BatchShape {
  std::int64_t num_seqs = 1;
  std::int64_t context_length = 1024;
  std::int64_t rows_per_seq = 1;
  std::int64_t num_kv_heads = 8;
  std::int64_t group = 4;
  std::int64_t head_dim = 128;
  std::int64_t block_size = 16;
  ElementType q_type = ElementType::kBf16;
  ElementType kv_type = ElementType::kBf16;
  KvLayout layout = KvLayout::kHeadMajor;

  std::int64_t num_q_heads() const { return num_kv_heads * group; }
  std::int64_t num_rows() const { return num_seqs * rows_per_seq; }
  std::int64_t blocks_per_seq() const { return (context_length + block_size - 1) / block_size; }
  double kv_bytes() const;         // of all contexts
  double must_move_bytes() const;  // K, V, q, out, lse and tables, once
  double flops() const;            // of both products, causal
};

class AttentionBatch {
 public:
  // Check status() before anything else: there may be too little memory.
  explicit AttentionBatch(const BatchShape& shape);

  Status status() const { return status_; }
  const BatchShape& shape() const { return shape_; }
  PagedAttentionInputs inputs() const;
  AttentionOutputs outputs() const;
  const MutablePagedKvView& kv() const { return kv_; }

 private:
  Status make_views();

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
