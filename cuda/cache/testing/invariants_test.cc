#include "cuda/cache/testing/invariants.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache::testing {
namespace {

// A fault planted directly in the manager's parts, and a part of the expected message.
struct Fault {
  void (*plant)(CacheCore&);
  std::string said;
};

// Sequences 0 and 1 share two full, cached blocks 0 and 1, and have one last block each, 2 and 3;
// sequence 2 is in the host pool; block 5 is cached and pinned, without a holder.
BlockManager well_used() {
  CacheOptions options = small_options(8);
  options.host_blocks = BlockCount(4);
  CheckedManager cache(options);
  const SequenceHandle first = cache.computed(ids_from(1, 8));
  cache.append(first, 2);
  const SequenceHandle second = cache.fork(first);
  cache.append({second});
  const SequenceHandle away = cache.admit(Ids{50});
  cache.append(away, 3);
  const std::vector<SequenceHandle> moved = {away};
  const Transfer transfer = cache.manager().swap_out(moved).value();
  CHECK(cache.manager().complete(transfer.handle) == Status::ok());
  cache.visit(ids_from(90, 4));
  CHECK(cache.manager().pin(prompt_of(ids_from(90, 4))).is_ok());
  CHECK(check_invariants(cache.manager()) == Status::ok());
  return std::move(cache.manager());
}

// Write access to a read-only member, to break it.
template <typename T>
T& broken(const T& part) {
  return const_cast<T&>(part);
}
PrefixIndex& index_of(CacheCore& core) { return broken(core.prefix.index()); }

NodeId chain_of(CacheCore& core, std::int32_t sequence) {
  return core.sequences[sequence].chain.end;
}

NodeId node_in(CacheCore& core, BlockId block) {
  return index_of(core).node_of(core.device.pool().content(block));
}

const std::vector<Fault>& faults() {
  using C = CacheCore;
  static const std::vector<Fault> kFaults = {
      {[](C& c) { c.device.pool().pretend_release(BlockId(0)); }, "references of block 0"},
      {[](C& c) { c.device.pool().undo_release(BlockId(2)); }, "references of block 2"},
      {[](C& c) { c.device.pool().release(BlockId(2)); }, "references of block 2"},
      {[](C& c) { broken(c.device.table(0, 0)[0]) = BlockId(1); }, "index of a shared block"},
      {[](C& c) { broken(c.device.table(0, 0)[0]) = kNoBlock; }, "entry 0 is block -1"},
      {[](C& c) { broken(c.device.table(0, 0)[0]) = BlockId(8); }, "entry 0 is block 8"},
      {[](C& c) { c.device.begin_row(0, 0, 1); }, "lacks what its next row sees"},
      {[](C& c) { --c.sequences[0].device.blocks; }, "longer than its tables"},
      {[](C& c) { ++c.sequences[0].device.length; }, "used slots"},
      {[](C& c) { c.sequences[0].device.length = 13; }, "longer than its tables"},
      {[](C& c) { c.sequences[0].host.length = 1; }, "tables"},
      {[](C& c) { c.sequences[0].run_end = 99; }, "beyond its blocks"},
      {[](C& c) { c.sequences[0].level = 1, c.sequences[0].run_end = 12; }, "level"},
      {[](C& c) { c.sequences[0].chain.committed = 3; }, "published more than it has"},
      {[](C& c) { c.sequences[0].chain.published = 1; }, "known for something else"},
      {[](C& c) { c.sequences[0].chain.end = kRoot; }, "length of the chain"},
      {[](C& c) { c.sequences[0].state = SequenceState::kSwappingOut; }, "transfers"},
      {[](C& c) { c.sequences[2].state = SequenceState::kPreempted; }, "host blocks"},
      {[](C& c) { c.sequences[0].life = SequenceLife::kReleased; }, "not closed"},
      {[](C& c) {
         c.sequences.open();
         c.sequences[3].life = SequenceLife::kNone;
       },
       "free places"},
      {[](C& c) { c.device.count_run(0, 1); }, "used slots"},
      {[](C& c) { broken(c.swap.host()).count_run(0, 1); }, "host: group 0: used slots"},
      {[](C& c) { c.device.pool().mark_uneven(BlockId(7)); }, "no holders, but is uneven"},
      {[](C& c) { c.device.pool().unpin(BlockId(4)); }, "pinned"},
      {[](C& c) { c.device.pool().forget_content(BlockId(4)); }, "cached slots"},
      {[](C& c) { c.device.forget(BlockId(0)); }, "users of node 0"},
      {[](C& c) { c.device.pool().set_content(BlockId(3), ContentId(7)); },
       "block that it writes into is not its own"},
      {[](C& c) {
         c.device.pool().forget_content(BlockId(1));
         c.device.pool().set_content(BlockId(1), ContentId(7));
       },
       "the block without a node"},
      {[](C& c) { index_of(c).add_user(chain_of(c, 0)); }, "users of node"},
      {[](C& c) { index_of(c).remove_user(chain_of(c, 0)); }, "users of node"},
      {[](C& c) { (void)index_of(c).add_pin(chain_of(c, 0)); }, "pins of node"},
      {[](C& c) { (void)index_of(c).remove_pin(node_in(c, BlockId(4))); }, "pins of node"},
      {[](C& c) { broken(c.prefix.pins()).open(chain_of(c, 0)); }, "whether block 0 is pinned"},
      {[](C& c) { ++broken(c.prefix.statistics()).stored; }, "stored less evicted"},
  };
  return kFaults;
}

TEST_CASE("each planted fault is found and named") {
  for (const Fault& fault : faults()) {
    INFO(fault.said);
    const BlockManager manager = well_used();
    fault.plant(broken(CacheCore::of(manager)));
    const Status status = check_invariants(manager);
    CHECK(status.code() == StatusCode::kFailed);
    CHECK_THAT(status.message(), Catch::Matchers::ContainsSubstring(fault.said));
  }
}

TEST_CASE("a block at a window's edge that is not marked uneven breaks an invariant") {
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(3)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  cache.append(sequence, 1);
  CacheCore& core = broken(CacheCore::of(cache.manager()));
  const BlockId edge(static_cast<std::int32_t>(cache.table(sequence)[1]));
  REQUIRE(core.device.pool().is_uneven(edge));
  core.device.pool().mark_even(edge);
  CHECK_THAT(check_invariants(cache.manager()).message(),
             Catch::Matchers::ContainsSubstring("others could find its window's edge"));
}

}  // namespace
}  // namespace recto::cache::testing
