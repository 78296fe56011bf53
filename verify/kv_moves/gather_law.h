#pragma once

// Contexts gathered out of a paged cache into contiguous rows, judged by the reference's gather, in
// the shape of a law.

#include <functional>
#include <optional>
#include <string>

#include "core/gather_inputs.h"
#include "verify/law.h"

namespace recto::verify {

struct KvGatherer {
  std::string backend;  // whose name the law is put to; it skips all others
  std::function<std::optional<std::string>(const GatherInputs&)> why_unsupported;
  std::function<void(const GatherInputs&)> gather;
};

// "gather", of the contexts of a case into rows with gaps between them, sequences in turned order
// with a row between two of them that is nobody's.
Law gather_law(const KvGatherer& gatherer);

}  // namespace recto::verify
