#include "cuda/cache/testing/state_text.h"

#include <sstream>

#include "cuda/cache/cache_core.h"

namespace recto::cache::testing {
namespace {

void write(std::ostream& out, const PoolStates& states) {
  out << "states " << states.used << ' ' << states.held_empty << ' ' << states.cached << ' '
      << states.pinned << ' ' << states.free << ' ' << states.overhead << '\n';
}

void write(std::ostream& out, const BlockPool& pool) {
  for (std::int64_t id = 0; id < pool.size().value(); ++id) {
    const BlockId block(static_cast<std::int32_t>(id));
    out << "block " << id << ": " << static_cast<int>(pool.state(block)) << ' '
        << pool.holders(block) << ' ' << pool.is_pinned(block) << pool.is_uneven(block) << ' '
        << pool.content(block) << '\n';
  }
  out << "free";
  for (BlockId block = pool.first_free(); block != kNoBlock; block = pool.next(block)) {
    out << ' ' << block;
  }
  out << "\nevictable";
  for (BlockId block = pool.oldest_evictable(); block != kNoBlock; block = pool.next(block)) {
    out << ' ' << block;
  }
  out << '\n';
}

void write_tables(std::ostream& out, const CacheCore& core, const Holdings& holdings,
                  std::int32_t sequence) {
  const TableRow& row = holdings.row(sequence);
  out << "  " << row.length << " tokens\n";
  if (row.blocks == 0) return;
  for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
    out << "  from " << holdings.first(sequence, group) << ':';
    for (const BlockId block : holdings.table(sequence, group)) out << ' ' << block;
    out << '\n';
  }
}

void write_sequence(std::ostream& out, const CacheCore& core, std::int32_t index) {
  const Sequence& sequence = core.sequences[index];
  out << "sequence " << index << ": generation " << sequence.generation << ", life "
      << static_cast<int>(sequence.life) << '\n';
  if (sequence.life == SequenceLife::kNone) return;
  const SequenceDetails& details = core.sequences.details(index);
  out << "  " << sequence_state_name(sequence.state) << ", run to " << sequence.run_end
      << ", published " << sequence.chain.published << " at " << sequence.chain.end
      << ", committed " << sequence.chain.committed << ", keys " << details.keys.lora_id << ' '
      << details.keys.tenant_salt << ", publishing " << static_cast<int>(details.publishing)
      << '\n';
  write_tables(out, core, core.device, index);
  write_tables(out, core, core.swap.host(), index);
}

void write_index(std::ostream& out, const CacheCore& core) {
  const PrefixIndex& index = core.prefix.index();
  ExtraWords words;
  for (std::int32_t id = 0; id < index.max_nodes(); ++id) {
    const NodeId node(id);
    if (!index.is_live(node)) continue;
    out << "node " << id << ": " << index.hash(node) << " behind " << index.parent(node)
        << ", users " << index.users(node) << ", pins " << index.pins(node) << ", tokens";
    const BlockContent content = index.content(node, words);
    for (const TokenId token : content.tokens) out << ' ' << token;
    out << ", words";
    for (const std::uint64_t word : content.extra_words) out << ' ' << word;
    out << ", blocks";
    for (std::int32_t group = 0; group < index.num_groups(); ++group) {
      out << ' ' << core.prefix.block_with(node, group);
    }
    out << '\n';
  }
}

void write(std::ostream& out, const CacheStatistics& done) {
  for (const std::int64_t count :
       {done.queries, done.query_tokens, done.hit_tokens, done.stored, done.evicted,
        done.evicted_for_nodes, done.overwritten, done.cleared, done.duplicates, done.collisions,
        done.no_node, done.too_many_items}) {
    out << count << ' ';
  }
}

}  // namespace

std::string state_text(const BlockManager& manager) {
  const CacheCore& core = CacheCore::of(manager);
  std::ostringstream out;
  write(out, core.device.pool());
  write(out, core.device.states());
  write(out, core.swap.host().pool());
  write(out, core.swap.host().states());
  for (std::int32_t index = 0; index < core.sequences.size(); ++index) {
    write_sequence(out, core, index);
  }
  out << "free places";
  for (const std::int32_t place : core.sequences.free_places()) out << ' ' << place;
  out << '\n';
  write_index(out, core);
  core.swap.transfers().visit_used([&](std::int32_t index, const TransferRecord& transfer) {
    out << "transfer " << index << ": " << static_cast<int>(transfer.direction);
    for (std::int32_t at = transfer.first_sequence; at >= 0;
         at = core.sequences.details(at).next_in_transfer) {
      out << ' ' << at;
    }
    out << '\n';
  });
  core.prefix.pins().visit_used(
      [&](std::int32_t index, NodeId end) { out << "pin " << index << " at " << end << '\n'; });
  out << "changes " << core.sequences.log().total() << '\n';
  write(out, manager.statistics());
  return out.str();
}

}  // namespace recto::cache::testing
