#include "verify/cases/context_lengths.h"

#include <algorithm>
#include <set>

#include "core/contract.h"

namespace recto::verify {
namespace {

std::int64_t draw_below(std::int64_t bound, RandomStream& stream) {
  return static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(bound)));
}

}  // namespace

std::vector<std::int64_t> edge_lengths(const LengthDomain& domain) {
  RECTO_CHECK_GE(domain.max, 0);
  std::set<std::int64_t> edges = {0, std::min<std::int64_t>(1, domain.max), domain.max};
  for (const std::int64_t size : domain.sizes) {
    RECTO_CHECK_GE(size, 1);
    for (std::int64_t multiple = 0; multiple - 1 <= domain.max; multiple += size) {
      for (const std::int64_t edge : {multiple - 1, multiple, multiple + 1}) {
        if (edge >= 0 && edge <= domain.max) edges.insert(edge);
      }
    }
  }
  return {edges.begin(), edges.end()};
}

std::int64_t draw_length(const LengthDomain& domain, RandomStream& stream) {
  RECTO_CHECK_GE(domain.max, 0);
  if (domain.sizes.empty() || stream.next_below(4) == 0) {
    return draw_below(domain.max + 1, stream);
  }
  const std::int64_t size = domain.sizes[stream.next_below(domain.sizes.size())];
  RECTO_CHECK_GE(size, 1);
  const std::int64_t multiple = draw_below(domain.max / size + 1, stream) * size;
  const std::int64_t edge = multiple + draw_below(3, stream) - 1;
  return std::clamp<std::int64_t>(edge, 0, domain.max);
}

}  // namespace recto::verify
