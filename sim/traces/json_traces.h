#pragma once

// JSON-lines traces: with block ids in place of tokens (Mooncake, Qwen-Bailian), or with all tokens
// (LLMServingSim).

#include <memory>

#include "sim/traces/row_parser.h"

namespace recto::sim {

// {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": [one per 512 tokens]}. An id
// stands for a block and all blocks before it, so equal ids mean equal prefixes.
std::unique_ptr<RowParser> make_mooncake_row_parser();

// The same fields, but "timestamp" in seconds and one id per 16 tokens, among other fields such as
// "chat_id". An id stands for its block alone, regardless of the blocks before it.
std::unique_ptr<RowParser> make_bailian_row_parser();

// {"input_toks": n, "output_toks": n, "arrival_time_ns": t, "input_tok_ids": [...],
// "output_tok_ids": [...]}, either array optional. Refuses lines that hold a session
// ("sub_requests"), whose arrivals depend on answers.
std::unique_ptr<RowParser> make_token_id_row_parser();

}  // namespace recto::sim
