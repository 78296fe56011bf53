#include "cuda/cache/cache_core.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/content_reader.h"

namespace recto::cache {
namespace {

template <typename T, typename Made>
Status keep(T& part, Made made) {
  if (made.is_ok()) part = std::move(made).value();
  return made.status();
}

Status make_scratch(const CacheOptions& options, CacheScratch& scratch) {
  const std::int64_t sequences = options.max_sequences;
  const std::int64_t tails = sequences * std::ssize(options.groups);
  const std::int64_t swaps =
      options.host_blocks.value() == 0 ? 0 : options.host_blocks.value() + tails;
  RECTO_RETURN_IF_ERROR(keep(scratch.copies, FixedArray<BlockCopy>::create(tails, "block copies")));
  RECTO_RETURN_IF_ERROR(keep(scratch.swaps, FixedArray<SwapCopy>::create(swaps, "swap copies")));
  RECTO_RETURN_IF_ERROR(
      keep(scratch.requests, FixedArray<GrowthRequest>::create(sequences, "growing sequences")));
  RECTO_RETURN_IF_ERROR(
      keep(scratch.beams, FixedArray<SequenceHandle>::create(2 * sequences, "beams")));
  return keep(scratch.child_counts,
              FixedArray<std::int32_t>::create(sequences, "beams' children", 0));
}

Status make_host(const CacheOptions& options, const CacheGeometry& geometry,
                 CacheCore::Parts& parts) {
  if (options.host_blocks.value() == 0) return Status::ok();
  RECTO_RETURN_IF_ERROR(
      keep(parts.host_pool, BlockPool::create(options.host_blocks, BlockCount(0))));
  return keep(parts.host_tables, BlockTables::create(geometry, options.max_sequences));
}

Status make_parts(const CacheOptions& options, const CacheGeometry& geometry,
                  CacheCore::Parts& parts) {
  const std::int32_t sequences = options.max_sequences;
  RECTO_RETURN_IF_ERROR(keep(parts.sequences, SequenceTable::create(sequences)));
  RECTO_RETURN_IF_ERROR(
      keep(parts.device_pool,
           BlockPool::create(options.num_blocks, options.null_blocks,
                             std::int64_t{max_nodes(options)} * geometry.num_groups())));
  RECTO_RETURN_IF_ERROR(keep(parts.device_tables, BlockTables::create(geometry, sequences)));
  RECTO_RETURN_IF_ERROR(make_host(options, geometry, parts));
  RECTO_RETURN_IF_ERROR(
      keep(parts.index,
           PrefixIndex::create({.max_nodes = max_nodes(options),
                                .num_groups = geometry.num_groups(),
                                .block_size = static_cast<std::int32_t>(geometry.block_size()),
                                .max_pins = options.prefix.max_pins,
                                .hasher = options.prefix.hasher})));
  RECTO_RETURN_IF_ERROR(keep(parts.log, ChangeLog::create(sequences)));
  RECTO_RETURN_IF_ERROR(keep(
      parts.transfers, SlotTable<TransferRecord, TransferHandle>::create(sequences, "transfers")));
  RECTO_RETURN_IF_ERROR(
      keep(parts.pins, SlotTable<PinRecord, PinHandle>::create(options.prefix.max_pins, "pins")));
  return make_scratch(options, parts.scratch);
}

}  // namespace

Result<std::unique_ptr<CacheCore>> CacheCore::create(const CacheOptions& options) {
  RECTO_RETURN_IF_ERROR(check_options(options));
  const CacheGeometry geometry(options);
  Parts parts;
  RECTO_RETURN_IF_ERROR(make_parts(options, geometry, parts).in("block manager"));
  return std::make_unique<CacheCore>(options, geometry, std::move(parts));
}

CacheCore::CacheCore(const CacheOptions& cache_options, const CacheGeometry& cache_geometry,
                     Parts parts)
    : options(cache_options),
      geometry(cache_geometry),
      sequences(std::move(parts.sequences)),
      device({.geometry = &geometry,
              .sequences = &sequences,
              .row = &Sequence::device,
              .pool = std::move(parts.device_pool),
              .tables = std::move(parts.device_tables)}),
      host({.geometry = &geometry,
            .sequences = &sequences,
            .row = &Sequence::host,
            .pool = std::move(parts.host_pool),
            .tables = std::move(parts.host_tables)}),
      index(std::move(parts.index)),
      log(std::move(parts.log)),
      transfers(std::move(parts.transfers)),
      pins(std::move(parts.pins)),
      scratch(std::move(parts.scratch)) {}

BlockId CacheCore::take(const TablePlace& place) {
  const BlockPool::Allocation given = device.take(place);
  if (given.evicted != kNoContent) {
    ++statistics.evicted;
    unpublish(given.evicted, given.block);
  }
  return given.block;
}

void CacheCore::take_until(std::int32_t sequence, std::int64_t blocks) {
  std::int32_t& held = sequences[sequence].device.blocks;
  for (; held < blocks; ++held) {
    for (std::int32_t group = 0; group < geometry.num_groups(); ++group) {
      take({sequence, group, held});
    }
  }
}

void CacheCore::forget(BlockId block) {
  const ContentId content = device.pool().content(block);
  device.forget(block);
  device.pool().mark_even(block);
  ++statistics.overwritten;
  unpublish(content, block);
}

void CacheCore::evict_oldest() {
  const BlockId block = device.pool().oldest_evictable();
  const ContentId content = device.pool().content(block);
  device.forget(block);
  ++statistics.evicted;
  unpublish(content, block);
}

void CacheCore::unpublish(ContentId content, BlockId block) {
  const NodeId node = index.node_of(content);
  const std::int32_t group = index.group_of(content);
  if (options.events != nullptr) {
    options.events->on_removed({.hash = index.hash(node), .group = group, .block = block});
  }
  index.remove_user(node);
}

void CacheCore::refresh_run(std::int32_t sequence) {
  Sequence& mine = sequences[sequence];
  const std::int64_t length = mine.device.length;
  mine.run_end = length;
  mine.level = static_cast<std::int16_t>(geometry.level(length));
  std::int64_t end = mine.device.blocks * geometry.block_size();
  if (mine.level + 1 < geometry.num_levels()) {
    end = std::min(end, geometry.level_begin(mine.level + 1));
  }
  if (!geometry.is_aligned(length)) {
    const std::int64_t tail = geometry.full_blocks(length);
    for (std::int32_t group = 0; group < geometry.num_groups(); ++group) {
      if (!device.is_writable({sequence, group, tail})) return;
    }
  }
  for (const std::int32_t group : geometry.window_groups()) {
    const std::int64_t edge = geometry.first_needed(group, length);
    if (device.tables().first(sequence, group) < edge) return;  // some blocks must be given back
    if (geometry.visible(group, length + 1).begin == 0) continue;
    end =
        std::min(end, length + geometry.slots_of(edge).end - geometry.visible(group, length).begin);
    if (edge >= mine.device.blocks) continue;
    const BlockId block = device.block({sequence, group, edge});
    if (device.pool().holders(block) > 1) return;
    if (device.pool().content(block) != kNoContent) device.pool().mark_uneven(block);
  }
  mine.run_end = end;
}

void CacheCore::cut_chain(std::int32_t sequence, std::int64_t blocks) {
  Sequence& mine = sequences[sequence];
  mine.committed = static_cast<std::int32_t>(std::min<std::int64_t>(mine.committed, blocks));
  if (mine.published <= blocks) return;
  NodeId end = mine.chain;
  for (std::int64_t known = mine.published; known > blocks; --known) end = index.parent(end);
  index.add_user(end);
  index.remove_user(mine.chain);
  mine.chain = end;
  mine.published = static_cast<std::int32_t>(blocks);
}

}  // namespace recto::cache
