#pragma once

// The main result of a page: the best row, and rejected requests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/block_size_panel.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// For a study: {"recommended": a row, or null, "not_told_apart": rows, "compared": [worst, best]}.
// `rows` are the page's rows, `mapped` the rows with a map, `panels` those of block_size_panels.
// Ranks rows by fewest rejected requests, then by throughput, and within a hundredth of that by the
// time per token. The rows that panels recommend compete for the recommendation, because
// allocators without blocks may use knowledge that no server has; "not_told_apart" names rows that
// the seeds do not separate from it. There is no recommendation if the best row is of a panel that
// recommends none. Rows that served nothing are compared only if there are not two others.
Json headline_json(const Json& rows, const std::vector<std::size_t>& mapped, const Json& panels,
                   Throughput throughput);

// Notes on the page's numbers: the rows that reject requests, and how many, as means over `seeds`
// seeds; none if no row does.
std::vector<std::string> notes_on(const Json& rows, std::int64_t seeds);

}  // namespace recto::experiments
