#pragma once

// What the extension exports.

#include <torch/extension.h>

void packed_decode(torch::Tensor& out, torch::Tensor& exp_sums, torch::Tensor& max_logits,
                   torch::Tensor& tmp_out, torch::Tensor& query, torch::Tensor& key_cache,
                   torch::Tensor& value_cache, double scale, torch::Tensor& block_tables,
                   torch::Tensor& seq_lens, int64_t block_size, int64_t max_seq_len,
                   int64_t partition_size, bool half_sums);
