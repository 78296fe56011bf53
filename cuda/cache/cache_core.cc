#include "cuda/cache/cache_core.h"

namespace recto::cache {

Result<std::unique_ptr<CacheCore>> CacheCore::create(const CacheOptions& options) {
  RECTO_RETURN_IF_ERROR(check_options(options));
  auto core = std::make_unique<CacheCore>(options);
  RECTO_RETURN_IF_ERROR(core->allocate().in("block manager"));
  return core;
}

CacheCore::CacheCore(const CacheOptions& cache_options)
    : options(cache_options),
      geometry(options),
      device(geometry, sequences, &Sequence::device),
      prefix(options, geometry, sequences, device),
      swap(options, geometry, sequences, device, prefix) {}

Status CacheCore::allocate() {
  const std::int64_t max_sequences = options.max_sequences;
  const std::int64_t num_contents = std::int64_t{max_nodes(options)} * geometry.num_groups();
  RECTO_RETURN_IF_ERROR(keep(sequences, SequenceTable::create(options.max_sequences)));
  RECTO_RETURN_IF_ERROR(device.allocate(options.num_blocks, options.null_blocks, num_contents));
  RECTO_RETURN_IF_ERROR(prefix.allocate());
  RECTO_RETURN_IF_ERROR(swap.allocate());
  RECTO_RETURN_IF_ERROR(copies.allocate(max_sequences * geometry.num_groups(), "block copies"));
  RECTO_RETURN_IF_ERROR(requests.allocate(max_sequences, "growing sequences"));
  RECTO_RETURN_IF_ERROR(beams.allocate(2 * max_sequences, "beams"));
  return child_counts.allocate(max_sequences, "beams' children", 0);
}

}  // namespace recto::cache
