#pragma once

// A complete step loop of a serving engine around a block manager, to be copied: admission with
// cached prefixes, chunked prompts, several samples per prompt, copies before writes, tables and
// slots for kernels, and preemption when blocks run out.
//
// In place of kernels, K and V are token ids in a plain array, and the model is a sum over what it
// reads through the block tables. So any mistake in tables, slots or copies gives other tokens than
// the same model without a cache.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/status.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache::example {

struct Request {
  std::int32_t name = 0;
  std::vector<TokenId> prompt = {};
  std::int64_t num_outputs = 1;  // tokens to generate
  std::int32_t num_samples = 1;  // answers to generate
};

struct Answer {
  std::int32_t request = 0;
  std::int32_t sample = 0;
  std::vector<TokenId> tokens = {};  // the prompt and the generated tokens; fewer if refused
  Status status = Status::ok();
};

// Depends on every token, its position, and the number of the sample.
TokenId next_token(std::int64_t sum, std::int64_t length, std::int32_t sample);

class Engine {
 public:
  struct Limits {
    std::int32_t max_rows = 6;    // sequences of a batch
    std::int64_t max_chunk = 10;  // prompt tokens that a step computes
  };

  // Invalid input, or exhausted, as BlockManager::create; invalid input also for more than one
  // group of layers, which this example does not support, and for impossible limits.
  static Result<Engine> create(const CacheOptions& options, const Limits& limits);

  // Invalid input for a request that can never be served.
  Status submit(const Request& request);
  // One step of the batch; false when there is nothing left to do.
  bool step();

  const std::vector<Answer>& answers() const { return answers_; }
  const BlockManager& manager() const { return manager_; }
  std::int64_t num_copies() const { return num_copies_; }
  std::int64_t num_preemptions() const { return num_preemptions_; }

 private:
  // A sequence of the manager's, or a request that will become one.
  struct Sample {
    Answer answer = {};
    std::int64_t final_length = 0;
    std::int32_t more_samples = 0;  // of the same prompt, once that is computed
    std::optional<SequenceHandle> sequence = {};
    std::int32_t row = -1;      // of the batch
    std::int64_t computed = 0;  // tokens whose K and V are in the cache
    std::int64_t in_step = 0;   // further tokens that this step computes

    std::int64_t length() const { return std::ssize(answer.tokens); }
    bool needs_one() const { return length() - computed == 1; }
  };

  Engine(BlockManager manager, const Limits& limits);

  void admit();
  Status admit(Sample& sample);
  void take_row(Sample& sample);
  void grow();
  void preempt_last();
  void copy(std::span<const BlockCopy> copies);
  void write_step();
  std::int64_t attend(const Sample& sample) const;
  void publish_and_sample();
  void branch(const Sample& parent, std::int32_t number, std::int64_t sum);
  void go_on(Sample sample, std::int64_t sum);
  std::int32_t rows_spoken_for() const;
  std::int64_t block_size() const { return manager_.options().block_size.value(); }
  std::int64_t max_blocks() const { return manager_.options().max_blocks_per_sequence.value(); }

  Limits limits_;
  BlockManager manager_;
  std::vector<TokenId> cache_;               // [num_blocks, block_size]: K and V
  std::vector<std::int32_t> host_tables_;    // [max_rows, max_blocks]
  std::vector<std::int32_t> device_tables_;  // the same; receives only the changes
  std::optional<BatchTables> tables_;        // writes host_tables_
  std::deque<Sample> waiting_;
  std::vector<Sample> running_;
  std::vector<Answer> answers_;
  std::int64_t num_copies_ = 0;
  std::int64_t num_preemptions_ = 0;
};

}  // namespace recto::cache::example
