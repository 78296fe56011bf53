#pragma once

// What a reader should take home of all rows of a page: which is best, and what was not served.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/block_size_panel.h"
#include "experiments/report/results_folder.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Of a study: {"recommended": a row, or null, "not_told_apart": rows, "compared": [worst, best]}.
// `rows` are those of the page, `mapped` those with a map, `panels` those of block_size_panels.
// Rows are ranked by how few requests they reject, then by throughput, and within a hundredth of
// that by the time per token. What each panel recommends competes for the recommendation, since
// allocators without blocks may know what no server does; those that seeds do not tell apart from
// it are named. There is none where the best is of a panel that recommends none. Rows that served
// nothing are compared only where there are no two others.
Json headline_json(const Json& rows, const std::vector<std::size_t>& mapped, const Json& panels,
                   Throughput throughput);

// What a reader of the page must know of where its numbers are from: that another commit of recto
// wrote them, with what was done about it; and which of `rows` reject requests.
std::vector<std::string> notes_on(const ResultsFolder& folder, const Json& rows);

// Which rows reject how many requests, means over `seeds` seeds; empty where none does.
std::string rejected_note(const Json& rows, std::int64_t seeds);

}  // namespace recto::experiments
