#pragma once

// Traces that say what every token is: LLMServingSim.

#include <memory>

#include "sim/traces/row_parser.h"

namespace recto::sim {

// {"input_toks": n, "output_toks": n, "arrival_time_ns": t, "input_tok_ids": [...],
// "output_tok_ids": [...]}, either array optional. Refuses lines that hold a session
// ("sub_requests"), whose arrivals depend on answers.
std::unique_ptr<RowParser> make_token_id_row_parser();

}  // namespace recto::sim
