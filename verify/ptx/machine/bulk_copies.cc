// cp.async.bulk and cp.async.bulk.tensor.

#include <utility>

#include "verify/ptx/machine/async_copies.h"

namespace recto::ptx {
namespace {

constexpr std::uint32_t kBulkAlignment = 16;

std::optional<TensorMap> map_at(const std::byte* bytes, std::string* problem) {
  TensorMapBytes copy;
  std::copy_n(bytes, copy.bytes.size(), copy.bytes.begin());
  Result<TensorMap> map = decoded_tensor_map(copy);
  if (map.is_ok()) return std::move(map).value();
  *problem = map.status().message();
  return std::nullopt;
}

}  // namespace

bool AsyncCopies::copy_bulk(const WarpStep& at, const Detail& detail) {
  for (LaneMask left = at.lanes; left != 0; left &= left - 1) {
    BulkCopy bulk{at, detail, static_cast<unsigned>(__builtin_ctz(left))};
    if (!read_transfer(bulk)) return false;
    if (!(detail.bulk.is_to_shared ? load_bulk(bulk) : store_bulk(bulk))) return false;
  }
  return true;
}

bool AsyncCopies::read_transfer(BulkCopy& bulk) {
  bulk.transfer.is_to_shared = bulk.detail.bulk.is_to_shared;
  if (!bulk.detail.bulk.coordinates.empty()) return read_box(bulk);
  bulk.transfer.bytes = bulk.at.warp.row<std::uint32_t>(bulk.detail.uses[0])[bulk.lane];
  if (bulk.transfer.bytes % kBulkAlignment == 0 && bulk.transfer.bytes != 0) return true;
  memory_.reporter().abandon(
      Check::kMisaligned, bulk.at.warp.thread(bulk.lane), bulk.at.step,
      "copies " + std::to_string(bulk.transfer.bytes) + " bytes, no positive multiple of 16");
  return false;
}

bool AsyncCopies::read_box(BulkCopy& bulk) {
  LaneAddresses pointers;
  const LaneMask lanes = LaneMask{1} << bulk.lane;
  if (!memory_.access(
          bulk.at.warp, bulk.detail.source,
          {&bulk.at.step, lanes, sizeof(TensorMapBytes), AccessKind::kRead, "reads a tensor map,"},
          pointers)) {
    return false;
  }
  std::string problem;
  const auto map = map_at(reinterpret_cast<const std::byte*>(pointers[bulk.lane]), &problem);
  const std::size_t rank = bulk.detail.bulk.coordinates.size();
  if (map && map->rank != static_cast<int>(rank)) {
    problem = "has " + std::to_string(rank) + " coordinates for a tensor of rank " +
              std::to_string(map->rank);
  }
  if (!problem.empty()) {
    memory_.reporter().abandon(Check::kTensorMap, bulk.at.warp.thread(bulk.lane), bulk.at.step,
                               problem);
    return false;
  }
  TensorBox box{*map};
  for (std::size_t i = 0; i < rank; ++i) {
    box.coordinates[i] = bulk.at.warp.row<std::int32_t>(bulk.detail.bulk.coordinates[i])[bulk.lane];
  }
  bulk.lines = box_lines(box.map, box.coordinates);
  bulk.transfer.bytes = box_bytes(box.map);
  bulk.transfer.box = box;
  return true;
}

// The side that is not the destination's or source's shared memory: global memory, or what is
// copied to another thread block.
bool AsyncCopies::touch_other_side(BulkCopy& bulk, AccessKind kind, std::uint32_t operation) {
  const LaneMask lanes = LaneMask{1} << bulk.lane;
  const char* const verb = is_write(kind) ? "copies to" : "copies";
  Access access{&bulk.at.step, lanes, bulk.transfer.bytes, kind, verb, operation};
  LaneAddresses pointers;
  if (!bulk.transfer.box) {
    if (!memory_.access(bulk.at.warp, bulk.detail.source, access, pointers)) return false;
    bulk.transfer.other = reinterpret_cast<std::byte*>(pointers[bulk.lane]);
    return true;
  }
  for (const BoxLine& line : bulk.lines) {
    if (line.begin == line.end) continue;
    pointers.fill(line.global_address + line.begin);
    access.bytes = line.end - line.begin;
    if (!memory_.access_global(bulk.at.warp, access, pointers)) return false;
  }
  return true;
}

bool AsyncCopies::touch_shared(const BulkCopy& bulk, const BlockMemory::SharedPlace& place,
                               const Access& access) {
  const std::uint32_t alignment = bulk.transfer.box ? kTensorBoxAlignment : kBulkAlignment;
  if (place.offset % alignment != 0) {
    memory_.reporter().abandon(Check::kMisaligned, bulk.at.warp.thread(bulk.lane), bulk.at.step,
                               std::string(access.verb) + " " + memory_.shared_text(place.offset) +
                                   ", whose address is no multiple of " +
                                   std::to_string(alignment));
    return false;
  }
  LaneAddresses addresses;
  addresses.fill(place.address());
  return memory_.access_shared(bulk.at.warp, MemorySpace::kSharedCluster, access, addresses);
}

bool AsyncCopies::load_bulk(BulkCopy& bulk) {
  const Detail& detail = bulk.detail;
  const auto to = memory_.shared_place(bulk.at.warp, detail.memory, bulk.lane);
  const auto signal = memory_.shared_place(bulk.at.warp, detail.signal, bulk.lane);
  std::uint32_t ranks = to ? 1U << to->rank : 0;
  if (detail.bulk.is_multicast) {
    ranks = bulk.at.warp.row<std::uint16_t>(detail.uses.back())[bulk.lane];
  }
  const bool is_apart = !to || !signal || (!detail.bulk.is_multicast && to->rank != signal->rank);
  if (is_apart || ranks == 0) {
    memory_.reporter().abandon(
        Check::kMbarrier, bulk.at.warp.thread(bulk.lane), bulk.at.step,
        "copies to shared memory of a thread block where its mbarrier is not, or to none");
    return false;
  }
  bool has_source = false;
  for (; ranks != 0; ranks &= ranks - 1) {
    const auto rank = static_cast<std::uint32_t>(__builtin_ctz(ranks));
    BlockMemory* const owner = memory_.of_rank(rank);
    Mbarrier* const object = owner == nullptr ? nullptr : owner->mbarriers().find(signal->offset);
    if (object == nullptr) {
      memory_.reporter().abandon(Check::kMbarrier, bulk.at.warp.thread(bulk.lane), bulk.at.step,
                                 "copies to thread block " + std::to_string(rank) +
                                     " of its cluster, which has no mbarrier at " +
                                     memory_.shared_text(signal->offset));
      return false;
    }
    const std::uint32_t operation = begin_operation(object->stream, object->phase);
    begin_copy(bulk.at, bulk.lane, *object);
    if (!has_source && !touch_other_side(bulk, AccessKind::kAsyncRead, operation)) return false;
    has_source = true;
    const MbarrierAt found{object, {owner, rank, signal->offset}};
    if (!touch_shared(bulk, {owner, rank, to->offset},
                      {&bulk.at.step, LaneMask{1} << bulk.lane, bulk.transfer.bytes,
                       AccessKind::kAsyncWrite, "copies to", operation}) ||
        !load_bulk_into(bulk, {owner, rank, to->offset}, found)) {
      return false;
    }
  }
  return true;
}

bool AsyncCopies::load_bulk_into(BulkCopy& bulk, const BlockMemory::SharedPlace& to,
                                 const MbarrierAt& signal) {
  BulkTransfer transfer = bulk.transfer;
  transfer.shared = to.owner->shared(0);
  transfer.offset = to.offset;
  if (is_late()) {
    const std::uint32_t bytes = transfer.bytes;
    signal.object->deliveries.push_back(
        {[transfer = std::move(transfer)] { recto::ptx::run(transfer); }, bytes, 0});
    return true;
  }
  recto::ptx::run(transfer);
  const std::string problem =
      to.owner->mbarriers().expect(*signal.object, -std::int64_t{transfer.bytes});
  if (problem.empty()) return true;
  memory_.reporter().abandon(
      Check::kMbarrier, bulk.at.warp.thread(bulk.lane), bulk.at.step,
      "reports bytes to the mbarrier " + memory_.shared_text(signal.place.offset) + " " + problem);
  return false;
}

bool AsyncCopies::store_bulk(BulkCopy& bulk) {
  Thread& own = thread(bulk.at, bulk.lane);
  if (!own.has_streams) {
    own.reads = memory_.run().num_streams++;
    own.writes = memory_.run().num_streams++;
    own.has_streams = true;
  }
  const auto from = memory_.shared_place(bulk.at.warp, bulk.detail.memory, bulk.lane);
  if (!from || from->owner != &memory_) {
    memory_.reporter().abandon(Check::kOutOfBounds, bulk.at.warp.thread(bulk.lane), bulk.at.step,
                               "copies from memory that is not its own thread block's");
    return false;
  }
  const LaneMask lanes = LaneMask{1} << bulk.lane;
  if (!touch_shared(bulk, *from,
                    {&bulk.at.step, lanes, bulk.transfer.bytes, AccessKind::kAsyncRead, "copies",
                     begin_operation(own.reads, own.stores_committed)}) ||
      !touch_other_side(bulk, AccessKind::kAsyncWrite,
                        begin_operation(own.writes, own.stores_committed))) {
    return false;
  }
  BulkTransfer transfer = bulk.transfer;
  transfer.shared = memory_.shared(0);
  transfer.offset = from->offset;
  BulkStore store{own.stores_committed, bulk.at.step.place};
  if (is_late()) {
    store.copy = [transfer = std::move(transfer)] { recto::ptx::run(transfer); };
  } else {
    recto::ptx::run(transfer);
  }
  if (memory_.checker() != nullptr) own.stores.push_back(std::move(store));
  return true;
}

void AsyncCopies::commit_bulk(const WarpStep& at) {
  for_each_lane_of(at.lanes, [&](unsigned lane) { ++thread(at, lane).stores_committed; });
}

void AsyncCopies::wait_bulk(const WarpStep& at, const Detail& detail) {
  BlockChecker* const checker = memory_.checker();
  if (checker == nullptr) return;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    Thread& own = thread(at, lane);
    if (!own.has_streams || own.stores_committed <= detail.count) return;
    const auto done = static_cast<std::uint32_t>(own.stores_committed - detail.count);
    for (BulkStore& store : own.stores) {
      if (store.group >= done) continue;
      if (store.copy) std::exchange(store.copy, {})();
      store.has_read = true;
    }
    checker->finish_operations(at.warp.number, {own.reads, done});
    if (detail.is_for_reads) return;
    checker->finish_operations(at.warp.number, {own.writes, done});
    std::erase_if(own.stores, [&](const BulkStore& store) { return store.group < done; });
  });
}

}  // namespace recto::ptx
