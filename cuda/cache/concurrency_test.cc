// Runs the concurrency that block_manager.h allows: const members of one manager from many threads,
// and different managers. The target concurrency_test builds this file and the manager's sources
// with ThreadSanitizer: there a negative control, which the header forbids, shows that a race is
// detected.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/slot_mapping.h"

namespace {

std::atomic<std::int64_t> num_reports = 0;

}  // namespace

// ThreadSanitizer's hooks: the tests examine its reports, and its exit code is ignored. Its shared
// library must see them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
[[gnu::visibility("default")]] void __tsan_on_report(void*) { ++num_reports; }
[[gnu::visibility("default")]] const char* __tsan_default_options() { return "exitcode=0"; }
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace recto::cache {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kIsWatched = true;
#elif defined(__has_feature)
constexpr bool kIsWatched = __has_feature(thread_sanitizer);
#else
constexpr bool kIsWatched = false;
#endif

constexpr int kNumThreads = 4;
constexpr int kRounds = 200;

void in_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

std::vector<TokenId> ids_from(TokenId first, std::int64_t count) {
  std::vector<TokenId> ids;
  for (TokenId id = first; id < first + count; ++id) ids.push_back(id);
  return ids;
}

Prompt prompt_of(std::span<const TokenId> ids) {
  return {.tokens = {.ids = ids, .items = {}}, .keys = {.lora_id = 1, .tenant_salt = 2}};
}

// A manager with running, preempted and swapped sequences.
struct Scene {
  Scene() {
    for (const TokenId first : {0, 100, 200}) {
      const std::vector<TokenId> ids = ids_from(first, 21);
      sequences.push_back(manager.admit(prompt_of(ids)).value().sequence);
      manager.append(sequences.back(), TokenCount(21)).value();
      CHECK(manager.commit(sequences.back(), prompt_of(ids).tokens) == Status::ok());
    }
    CHECK(manager.preempt(sequences[1]) == Status::ok());
    const Transfer out = manager.swap_out(std::span(sequences).last(1)).value();
    CHECK(manager.complete(out.handle) == Status::ok());
  }

  static CacheOptions options() {
    CacheOptions options;
    options.num_blocks = BlockCount(64);
    options.block_size = TokenCount(4);
    options.host_blocks = BlockCount(32);
    options.max_sequences = 8;
    options.max_blocks_per_sequence = BlockCount(16);
    options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(9)}};
    return options;
  }

  BlockManager manager = BlockManager::create(options()).value();
  std::vector<SequenceHandle> sequences;
};

// The sum of the answers of all const members.
std::int64_t read_all(const Scene& scene) {
  const BlockManager& manager = scene.manager;
  const std::vector<TokenId> ids = ids_from(0, 30);
  const std::span<const SequenceHandle> swapped = std::span(scene.sequences).last(1);
  std::int64_t sum = manager.cached_prefix(prompt_of(ids)).value();
  sum += manager.can_admit(prompt_of(ids)) ? 1 : 0;
  sum += manager.can_admit(prompt_of(ids), TokenCount(65)) ? 1 : 0;
  sum += manager.can_resume(scene.sequences[1], prompt_of(ids)) ? 1 : 0;
  sum += manager.can_swap_out(std::span(scene.sequences).first(1)) ? 1 : 0;
  sum += manager.can_swap_in(swapped, TokenCount(2)) ? 1 : 0;
  for (const SequenceHandle sequence : scene.sequences) {
    const SequenceView view = manager.view(sequence).value();
    sum += view.context_length.value() + view.capacity.value() + view.published.value();
    for (const std::int32_t group : {0, 1}) {
      const std::span<const BlockId> table = manager.block_table(sequence, group).value();
      for (const BlockId block : table) sum += block.value();
    }
  }
  sum += manager.view(SequenceHandle{}).is_ok() ? 1 : 0;  // builds a message
  std::array<std::int64_t, 4> slots;
  const std::array<TokenRange, 1> last = {
      {{.sequence = scene.sequences[0], .first = 20, .count = 1}}};
  sum += write_slot_mapping(manager, 0, last, slots).is_ok() ? slots[0] : -1;
  sum += manager.available_blocks().value() + manager.num_sequences();
  sum += manager.states().used.value() + manager.host_states().used.value();
  sum += manager.group_states(1).held_empty.value() + manager.statistics().stored;
  return sum + manager.options().num_blocks.value();
}

// Runs a separate manager, with evictions, and returns its final state as one number. (Catch's
// checks are not thread-safe.)
std::int64_t live(TokenId salt) {
  BlockManager manager = BlockManager::create(Scene::options()).value();
  bool is_good = true;
  for (TokenId round = 0; round < kRounds; ++round) {
    const std::vector<TokenId> ids = ids_from(salt + 10 * (round % 13), 33);
    const Admission admitted = manager.admit(prompt_of(ids)).value();
    manager.append(admitted.sequence, TokenCount(33 - admitted.hit.value())).value();
    is_good &= manager.commit(admitted.sequence, prompt_of(ids).tokens).is_ok();
    const std::array<SequenceHandle, 2> pair = {admitted.sequence,
                                                manager.fork(admitted.sequence).value()};
    manager.append(pair).value();
    for (const SequenceHandle sequence : pair) is_good &= manager.release(sequence).is_ok();
  }
  if (!is_good) return 0;
  return manager.statistics().hit_tokens + 1000 * manager.statistics().evicted;
}

TEST_CASE("const members of one manager may be called by many threads") {
  const Scene scene;
  const std::int64_t expected = read_all(scene);
  std::array<std::int64_t, kNumThreads> wrong{};
  in_threads([&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      if (read_all(scene) != expected) ++wrong[static_cast<std::size_t>(thread)];
    }
  });
  CHECK(wrong == std::array<std::int64_t, kNumThreads>{});
  CHECK(num_reports.exchange(0) == 0);
}

TEST_CASE("managers in several threads do not affect each other") {
  const std::int64_t expected = live(0);
  CHECK(expected > 1000);
  std::array<std::int64_t, kNumThreads> lives{};
  in_threads([&](int thread) { lives[static_cast<std::size_t>(thread)] = live(1000 * thread); });
  for (const std::int64_t ended : lives) CHECK(ended == expected);
  CHECK(num_reports.exchange(0) == 0);
}

TEST_CASE("ThreadSanitizer reports a non-const member that several threads call") {
  if (!kIsWatched) RECTO_SKIP("built without ThreadSanitizer");
  Scene scene;
  const std::span<const SequenceHandle> running = std::span(scene.sequences).first(1);
  in_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) (void)scene.manager.can_append(running);
  });
  CHECK(num_reports.exchange(0) > 0);
}

}  // namespace
}  // namespace recto::cache
