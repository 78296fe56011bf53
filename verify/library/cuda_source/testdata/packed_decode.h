#pragma once

// The extension's interface.

#include <torch/extension.h>

#include <optional>

struct CacheOptions {
  std::optional<torch::Tensor> alibi_slopes = std::nullopt;  // [num_heads], float
  // For e4m3 codes; else 1.
  double k_scale = 1;
  double v_scale = 1;
};

void packed_decode(torch::Tensor& out, torch::Tensor& exp_sums, torch::Tensor& max_logits,
                   torch::Tensor& tmp_out, torch::Tensor& query, torch::Tensor& key_cache,
                   torch::Tensor& value_cache, double scale, torch::Tensor& block_tables,
                   torch::Tensor& seq_lens, int64_t block_size, int64_t max_seq_len,
                   int64_t partition_size, bool half_sums, const CacheOptions& options = {});
