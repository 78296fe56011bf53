// Compiles and runs the examples of the headers. The last test checks that the text between the
// marks of an example equals the lines in its header.

#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/block_pool.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/cache_reports.h"
#include "cuda/cache/cache_size.h"
#include "cuda/cache/prefix_index.h"
#include "cuda/cache/slot_mapping.h"

namespace recto::cache {
namespace {

// Declares what the examples leave to the reader.
std::int64_t copied_blocks = 0;
std::int64_t uploaded_entries = 0;
std::int32_t forgotten = -1;

void copy_block(const BlockCopy&) { ++copied_blocks; }
void upload(const TableRange& range) { uploaded_entries += range.count; }
void forget(ContentId content) { forgotten = content.value(); }

// Keeps the alignment of the headers' comments.
// clang-format off

TEST_CASE("block_pool.h") {
  // [block_pool.h
  BlockPool pool = BlockPool::create(BlockCount(100), BlockCount(1), 10).value();
  const BlockPool::Allocation given = pool.allocate();  // held once
  if (given.evicted != kNoContent) forget(given.evicted);
  pool.set_content(given.block, ContentId(7));
  pool.release(given.block);                 // evictable
  pool.hold(pool.block_with(ContentId(7)));  // a hit: held again
  // ]
  CHECK(pool.state(given.block) == BlockState::kHeld);
  CHECK(forgotten == -1);
}

TEST_CASE("prefix_index.h") {
  BlockPool pool = BlockPool::create(BlockCount(4), BlockCount(0), 8).value();
  const BlockId block = pool.allocate().block;
  // [prefix_index.h
  PrefixIndex index = PrefixIndex::create({.max_nodes = 8, .block_size = 2}).value();
  const std::vector<TokenId> tokens = {5, 6};
  const BlockContent content{.tokens = tokens, .extra_words = {}};
  const NodeId node = *index.insert(index.key(kRoot, content), content);
  pool.set_content(block, index.content_id(node, 0));
  index.add_user(node);     // the block
  index.remove_user(node);  // the inserter; the block remains a user
  const std::optional<NodeId> found = index.find(index.key(kRoot, content), content).node;
  const BlockId hit = pool.block_with(index.content_id(*found, 0));
  pool.forget_content(hit);
  index.remove_user(node);  // the last user: the node is forgotten
  // ]
  CHECK(found == node);
  CHECK(hit == block);
  CHECK(index.num_nodes() == 0);
}

TEST_CASE("block_manager.h, batch_tables.h and slot_mapping.h") {
  // [block_manager.h
  CacheOptions options;
  options.num_blocks = BlockCount(8);
  options.block_size = TokenCount(4);
  options.max_blocks_per_sequence = BlockCount(4);
  BlockManager manager = BlockManager::create(options).value();

  // A prompt arrives: its cached prefix is not computed again.
  std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6};
  const Prompt prompt{.tokens = {.ids = tokens, .items = {}}, .keys = {}};
  const Admission admitted = manager.admit(prompt).value();
  const TokenCount to_compute(6 - admitted.hit.value());
  manager.append(admitted.sequence, to_compute).value();  // copies to make first, if any
  // ... write K and V of the prompt, then commit: others may find them from now on.
  Status status = manager.commit(admitted.sequence, prompt.tokens);

  // Each decode step: room for one token per sequence, for all or for none.
  const std::vector<SequenceHandle> batch = {admitted.sequence};
  const std::span<const BlockCopy> copies = manager.append(batch).value();
  for (const BlockCopy& copy : copies) copy_block(copy);
  // ]
  CHECK(status == Status::ok());
  CHECK(copied_blocks == 0);
  const SequenceHandle sequence = admitted.sequence;
  // [batch_tables.h
  std::vector<std::int32_t> buffer(1 * 2 * 4);  // [num_groups, max_rows, max_blocks]
  BatchTables tables = BatchTables::create(manager, {.max_rows = 2}, buffer).value();
  status = tables.assign(1, sequence);
  for (const TableRange& range : tables.update()) upload(range);  // elements of the buffer
  // ]
  CHECK(status == Status::ok());
  CHECK(buffer == std::vector<std::int32_t>{-1, -1, -1, -1, 0, 1, -1, -1});
  CHECK(uploaded_entries == 2);
  // [slot_mapping.h
  const std::vector<TokenRange> step = {{.sequence = sequence, .first = 6, .count = 1}};
  std::vector<std::int64_t> slots(2);  // one token, and one of padding
  status = write_slot_mapping(manager, 0, step, slots);  // {the slot of token 6, -1}
  // ]
  CHECK(status == Status::ok());
  CHECK(slots == std::vector<std::int64_t>{6, -1});
  // [block_manager.h
  status = manager.release(admitted.sequence);
  // ]
  CHECK(status == Status::ok());
  CHECK(manager.cached_prefix(prompt) == TokenCount(4));
}

TEST_CASE("cache_options.h, prompt.h and handle.h") {
  // [cache_options.h
  CacheOptions options;
  options.num_blocks = BlockCount(1000);
  options.max_blocks_per_sequence = BlockCount(64);
  options.watermark = BlockCount(10);
  // Every other layer sees 128 tokens.
  options.groups = {LayerGroup{.num_layers = 16},
                    LayerGroup{.num_layers = 16, .window = TokenCount(128)}};
  options.prefix.hasher.width = HashWidth::k128;
  const Status checked = check_options(options);
  // ]
  CHECK(checked == Status::ok());
  options.block_size = TokenCount(4);
  BlockManager manager = BlockManager::create(options).value();
  // [prompt.h
  const std::vector<TokenId> ids = {1, 2, 8, 8, 8, 3, 4};
  const std::vector<MultimodalItem> items = {{.content_hash = 77, .start = 2, .length = 3}};
  Prompt prompt{.tokens = {.ids = ids, .items = items}, .keys = {.lora_id = 5}};
  // Hashed only once, however often it is looked up.
  std::vector<BlockHash> hashes(ids.size() / 4);  // blocks of 4
  const std::int64_t hashed = manager.hash_prompt(prompt, hashes).value();
  prompt.hashes = std::span(hashes).first(static_cast<std::size_t>(hashed));
  const bool fits = manager.can_admit(prompt);
  // ]
  CHECK(hashed == 1);
  CHECK(fits);
  // [handle.h
  const SequenceHandle handle = manager.admit(prompt).value().sequence;
  const Status first = manager.release(handle);
  const Status second = manager.release(handle);  // invalid input: the handle is stale
  // ]
  CHECK(first == Status::ok());
  CHECK(second.code() == StatusCode::kInvalidInput);
}

TEST_CASE("cache_events.h and cache_reports.h") {
  CacheOptions options;
  options.num_blocks = BlockCount(8);
  options.block_size = TokenCount(4);
  options.max_blocks_per_sequence = BlockCount(4);
  // [cache_events.h
  struct Router final : CacheEvents {
    void on_stored(const StoredBlock& stored) override { known.insert(stored.hash.low); }
    void on_removed(const RemovedBlock& removed) override { known.erase(removed.hash.low); }
    void on_cleared() override { known.clear(); }
    std::set<std::uint64_t> known;
  };
  Router router;
  options.events = &router;
  // ]
  BlockManager manager = BlockManager::create(options).value();
  const std::vector<TokenId> ids = {1, 2, 3, 4, 5};
  const Prompt prompt{.tokens = {.ids = ids, .items = {}}, .keys = {}};
  const SequenceHandle sequence = manager.admit(prompt).value().sequence;
  manager.append(sequence, TokenCount(5)).value();
  CHECK(manager.commit(sequence, prompt.tokens) == Status::ok());
  CHECK(manager.release(sequence) == Status::ok());
  CHECK(router.known.size() == 1);
  // [cache_reports.h
  const PoolStates states = manager.states();
  const TokenCount idle = states.cached + states.free;  // available
  const bool is_half_empty = states.used + states.used < states.sum();
  // ]
  CHECK(idle == TokenCount(32));
  CHECK(is_half_empty);
  // [cache_reports.h
  const CacheStatistics& counts = manager.statistics();  // always up to date
  const std::int64_t computed = counts.query_tokens - counts.hit_tokens;
  // ]
  CHECK(computed == 5);
  // [cache_reports.h
  const CacheMemory memory = manager.memory();
  const std::int64_t bytes_each = memory.block_bytes / manager.options().num_blocks.value();
  // ]
  CHECK(bytes_each > 0);
  manager.reset_prefix_cache();
  CHECK(router.known.empty());
}

TEST_CASE("cache_size.h") {
  CacheOptions options;
  // [cache_size.h
  CacheSizeRequest request;
  request.model = find_model("llama-3.1-8b").value();
  request.gpu = find_gpu("a100-80").value();
  const CacheSize size = size_cache(request).value();
  options.num_blocks = size.num_blocks;
  // ]
  CHECK(options.num_blocks > BlockCount(10'000));
}

// clang-format on

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string without_indent(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

// The lines of a header's examples: comment lines that are indented by three spaces.
std::vector<std::string> example_in(const std::string& header) {
  std::vector<std::string> example;
  for (const std::string& line : lines_of("cuda/cache/" + header)) {
    if (!line.starts_with("//")) {
      if (!line.empty() && !line.starts_with("#pragma")) break;  // stop at the first include
      continue;
    }
    if (line.starts_with("//   ")) example.push_back(without_indent(line.substr(2)));
  }
  return example;
}

std::vector<std::string> example_here(const std::string& header) {
  std::vector<std::string> example;
  bool is_inside = false;
  for (const std::string& line : lines_of("cuda/cache/examples_test.cc")) {
    const std::string text = without_indent(line);
    if (text == "// ]") is_inside = false;
    if (is_inside && !text.empty()) example.push_back(text);
    if (text == "// [" + header) is_inside = true;
  }
  return example;
}

TEST_CASE("the examples compiled here are those in the headers") {
  for (const char* header : {"block_pool.h", "prefix_index.h", "block_manager.h", "batch_tables.h",
                             "slot_mapping.h", "cache_options.h", "prompt.h", "handle.h",
                             "cache_events.h", "cache_reports.h", "cache_size.h"}) {
    INFO(header);
    const std::vector<std::string> example = example_here(header);
    CHECK(example.size() >= 2);
    CHECK(example_in(header) == example);
  }
}

}  // namespace
}  // namespace recto::cache
