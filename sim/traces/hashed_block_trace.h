#pragma once

// Traces whose prompts are lists of block ids: Mooncake and Qwen-Bailian.

#include <memory>

#include "sim/traces/row_parser.h"

namespace recto::sim {

// {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": [one per 512 tokens]}. An id
// stands for a block and all blocks before it, so equal ids mean equal prefixes.
std::unique_ptr<RowParser> make_mooncake_row_parser();

// The same fields with "timestamp" in seconds and one id per 16 tokens, among others such as
// "chat_id". An id stands for the block alone, whatever comes before it.
std::unique_ptr<RowParser> make_bailian_row_parser();

}  // namespace recto::sim
