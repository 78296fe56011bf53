#pragma once

// A law for gathering contexts from a paged cache into contiguous rows, compared with the
// reference's gather.

#include <functional>
#include <string>

#include "core/attention_views.h"
#include "verify/law.h"

namespace recto::verify {

struct KvGatherer {
  std::string backend;  // the only backend to which the law applies, by name
  std::function<CallOutcome(const GatherInputs&)> gather;
};

// "gather": gathers the contexts of a case into rows with gaps between them, with the sequences in
// reverse order and an unused row between any two of them.
Law gather_law(const KvGatherer& gatherer);

}  // namespace recto::verify
