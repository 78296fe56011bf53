#pragma once

// Identifies the full blocks of a sequence by a chain of 64-bit hashes, each over the tokens of its
// block and the previous hash, so that equal hashes mean equal prefixes (up to collisions, with
// probability 2^-64 per pair).

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/request.h"

namespace recto::sim {

class TokenHashes {
 public:
  TokenHashes() = default;

  // `member` distinguishes the outputs of parallel samples. `request` must outlive this object.
  TokenHashes(const Request* request, std::int32_t member, TokenCount block_size);

  // The hash of logical block `index`, which must be within the final length. Amortised
  // O(block_size / shortest run), or O(block_size) for explicit token ids.
  std::uint64_t at(std::int64_t index);

 private:
  std::uint64_t hash_next_block();
  std::uint64_t hash_range(std::uint64_t seed, std::int64_t begin, std::int64_t end);

  const Request* request_ = nullptr;
  std::uint64_t output_identity_ = 0;
  std::int64_t output_ids_ = 0;  // number of output tokens with known ids
  std::int64_t block_size_ = 0;
  std::vector<std::uint64_t> hashes_;
  std::size_t run_ = 0;         // the run in which the next block starts
  std::int64_t run_begin_ = 0;  // position of its first token
};

}  // namespace recto::sim
