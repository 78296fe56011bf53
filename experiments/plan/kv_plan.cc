#include "experiments/plan/kv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

namespace recto::experiments {
namespace {

// Up to this batch, byte counts of existing models are far within 64 bits.
constexpr std::int64_t kBatchMax = 1'000'000;

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double to_double(std::int64_t value) { return static_cast<double>(value); }

// On all ranks together.
std::int64_t whole_bytes_per_token(const KvPlanOptions& options) {
  KvShape whole = options.pool.shape;
  whole.tensor_parallel = 1;
  return kv_bytes_per_token(options.model, whole).value();
}

// Twice the slots that a request of this mean length holds in blocks: whole numbers, so that
// counts are exact.
std::int64_t twice_held_slots(TokenCount mean_length, TokenCount block_size) {
  return 2 * mean_length.value() + block_size.value() - 1;
}

Status does_not_fit(const KvPlanOptions& options, const Status& problem) {
  const Result<std::int64_t> smallest =
      smallest_tensor_parallel(options.model, options.gpu, options.pool, TokenCount(1));
  const std::string remedy =
      smallest.is_ok()
          ? fmt::format("the least that fits is --tp {}", smallest.value())
          : fmt::format("no number of cards up to the model's {} query heads is enough",
                        options.model.num_q_heads);
  return Status::invalid_input(problem.message() + "; " + remedy);
}

// The pool in a given KV memory, as if the card held nothing else.
Result<PoolSize> pool_in(ByteCount kv_memory, const KvPlanOptions& options) {
  const KvShape& shape = options.pool.shape;
  RECTO_RETURN_IF_ERROR(check_kv_shape(options.model, shape));
  PoolSize pool;
  pool.tensor_parallel = shape.tensor_parallel;
  pool.block_bytes = kv_bytes_per_block(options.model, shape);
  if (kv_memory < pool.block_bytes) {
    return Status::invalid_input(
        fmt::format("--pool-gib: expected at least one block of {} bytes, got {} bytes",
                    pool.block_bytes.value(), kv_memory.value()));
  }
  pool.blocks = blocks_in(kv_memory, options.model, shape);
  pool.slots = shape.block_size * pool.blocks.value();
  pool.pool_bytes = pool.block_bytes * pool.blocks.value();
  pool.remainder_bytes = kv_memory - pool.pool_bytes;
  return pool;
}

Result<PoolSize> size_for(const KvPlanOptions& options) {
  if (options.kv_memory) return pool_in(*options.kv_memory, options);
  Result<PoolSize> pool = size_pool(options.model, options.gpu, options.pool);
  if (!pool.is_ok() && pool.status().code() == StatusCode::kExhausted) {
    return does_not_fit(options, pool.status());
  }
  return pool;
}

Status check_length(const char* what, TokenCount length, TokenCount max_length) {
  if (length >= TokenCount(1) && length <= max_length) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}: expected 1 to {} tokens (--max-length, or else the longest context of the "
                  "model), got {}",
                  what, max_length.value(), length.value()));
}

// Checks that the bytes of the batch, K and V of all heads, can be counted even for a model with
// absurdly large figures.
Status check_batch(const KvPlanOptions& options, TokenCount length) {
  const std::int64_t token_bytes = whole_bytes_per_token(options);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / token_bytes / length.value();
  if (options.batch <= most) return Status::ok();
  return Status::invalid_input(
      fmt::format("--batch: the bytes of {} requests of {} tokens of {} can't be counted; expected "
                  "at most {}",
                  options.batch, length.value(), options.model.name, most));
}

Status check_lengths(const KvPlanOptions& options, TokenCount max_length) {
  RECTO_RETURN_IF_ERROR(check_length("--max-length", max_length, options.model.max_context));
  for (const RequestLength& length : options.lengths) {
    if (length.prompt < TokenCount(0) || length.output < TokenCount(0)) {
      return Status::invalid_input(fmt::format("--prompt, --output: expected 0 or more, got {}, {}",
                                               length.prompt.value(), length.output.value()));
    }
    // So that their sum does not overflow.
    const TokenCount longer = std::max(length.prompt, length.output);
    RECTO_RETURN_IF_ERROR(
        check_length("--length", longer > max_length ? longer : length.total(), max_length));
    RECTO_RETURN_IF_ERROR(check_batch(options, length.total()));
  }
  for (const TokenCount mean_length : options.mean_lengths) {
    RECTO_RETURN_IF_ERROR(check_length("--mean-length", mean_length, max_length));
  }
  return Status::ok();
}

LengthFit fit_length(const RequestLength& length, const KvPlan& plan,
                     const KvPlanOptions& options) {
  const TokenCount block_size = options.pool.shape.block_size;
  LengthFit fit;
  fit.length = length;
  fit.blocks = blocks_for(length.total(), block_size);
  fit.tail_slots = block_size * fit.blocks.value() - length.total();
  fit.paged = plan.pool.blocks.value() / fit.blocks.value();
  fit.contiguous = contiguous_requests(plan);
  fit.batch_bytes =
      ByteCount(whole_bytes_per_token(options) * length.total().value() * options.batch);
  return fit;
}

MeanFit shares_of(MeanFit fit, double wasted_slots, const KvPlan& plan,
                  const KvPlanOptions& options) {
  const double wasted = to_double(fit.requests) * wasted_slots;
  fit.waste_share = wasted_slots / fit.held_slots;
  fit.pool_share = ratio(wasted, to_double(plan.pool.slots.value()));
  if (!options.kv_memory) {
    fit.memory_share = ratio(wasted * to_double(plan.bytes_per_token.value()),
                             to_double(options.gpu.memory.value()));
  }
  return fit;
}

MeanLengthFit fit_mean_length(TokenCount mean_length, const KvPlan& plan,
                              const KvPlanOptions& options) {
  const double mean = to_double(mean_length.value());
  const std::int64_t twice_held = twice_held_slots(mean_length, options.pool.shape.block_size);
  const MeanFit contiguous{.requests = contiguous_requests(plan),
                           .held_slots = to_double(plan.max_length.value())};
  const MeanFit paged{.requests = 2 * plan.pool.slots.value() / twice_held,
                      .held_slots = to_double(twice_held) / 2};
  return {.mean_length = mean_length,
          .contiguous = shares_of(contiguous, contiguous.held_slots - mean, plan, options),
          .paged = shares_of(paged, paged.held_slots - mean, plan, options)};
}

}  // namespace

std::int64_t contiguous_requests(const KvPlan& plan) {
  // Without blocks, the remainder that they leave at the end of the pool is usable too.
  const ByteCount kv_memory = plan.pool.pool_bytes + plan.pool.remainder_bytes;
  return kv_memory.value() / plan.bytes_per_token.value() / plan.max_length.value();
}

Result<KvPlan> make_kv_plan(const KvPlanOptions& options) {
  if (options.batch < 1 || options.batch > kBatchMax) {
    return Status::invalid_input(
        fmt::format("--batch: expected 1 to {} requests, got {}", kBatchMax, options.batch));
  }
  const Result<PoolSize> pool = size_for(options);
  if (!pool.is_ok()) return pool.status();
  KvPlan plan;
  plan.pool = pool.value();
  plan.bytes_per_token = kv_bytes_per_token(options.model, options.pool.shape);
  plan.max_length = options.max_length.value_or(options.model.max_context);
  RECTO_RETURN_IF_ERROR(check_lengths(options, plan.max_length));
  for (const RequestLength& length : options.lengths) {
    plan.lengths.push_back(fit_length(length, plan, options));
  }
  for (const TokenCount mean_length : options.mean_lengths) {
    plan.mean_lengths.push_back(fit_mean_length(mean_length, plan, options));
  }
  return plan;
}

std::optional<TokenCount> longest_mean_length(const KvPlan& plan, TokenCount block_size,
                                              std::int64_t requests) {
  // requests * (2 length + block_size - 1) <= 2 slots
  const std::int64_t twice_length =
      2 * plan.pool.slots.value() / requests - (block_size.value() - 1);
  if (twice_length < 2) return std::nullopt;
  return TokenCount(twice_length / 2);
}

TokenCount shortest_mean_length(const KvPlan& plan, const KvPlanOptions& options, double share) {
  const auto wasted = [&](std::int64_t mean_length) {
    const MeanFit paged = fit_mean_length(TokenCount(mean_length), plan, options).paged;
    return options.kv_memory ? paged.pool_share : paged.memory_share;
  };
  // A request wastes the same at any length, so twice the length wastes at most half.
  std::int64_t length = 1;
  while (wasted(length) >= share || wasted(2 * length) >= share) length *= 2;
  // Whole requests make the waste a step function; the edge is at the last length that is not below
  // the share.
  length *= 2;
  while (length > 1 && wasted(length - 1) < share) --length;
  return TokenCount(length);
}

}  // namespace recto::experiments
