#include "cuda/example/engine.h"

#include <algorithm>
#include <string>

#include "core/contract.h"
#include "cuda/cache/slot_mapping.h"

namespace recto::cache::example {
namespace {

constexpr std::int64_t kMaxChunk = 1 << 20;

Status check_field(const char* field, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return Status::ok();
  return Status::invalid_input(std::string("engine: ") + field + " = " + std::to_string(value) +
                               "; expected 1 to " + std::to_string(most));
}

}  // namespace

TokenId next_token(std::int64_t sum, std::int64_t length, std::int32_t sample) {
  return static_cast<TokenId>((sum * 31 + length * 7 + sample) % 1009);
}

Result<Engine> Engine::create(const CacheOptions& options, const Limits& limits) {
  Result<BlockManager> manager = BlockManager::create(options);
  RECTO_RETURN_IF_ERROR(manager.status());
  RECTO_RETURN_IF_ERROR(check_field("number of groups", std::ssize(options.groups), 1));
  RECTO_RETURN_IF_ERROR(check_field("max_rows", limits.max_rows, options.max_sequences));
  RECTO_RETURN_IF_ERROR(check_field("max_chunk", limits.max_chunk, kMaxChunk));
  Engine engine(std::move(manager).value(), limits);
  // The tables refer to the manager's state and the vector's elements, which do not move when an
  // engine is moved.
  Result<BatchTables> tables =
      BatchTables::create(engine.manager_, {.max_rows = limits.max_rows}, engine.host_tables_);
  RECTO_RETURN_IF_ERROR(tables.status());
  engine.tables_.emplace(std::move(tables).value());
  engine.device_tables_ = engine.host_tables_;
  return engine;
}

Engine::Engine(BlockManager manager, const Limits& limits)
    : limits_(limits),
      manager_(std::move(manager)),
      cache_(static_cast<std::size_t>(manager_.options().num_blocks.value() * block_size()), -1),
      host_tables_(static_cast<std::size_t>(limits.max_rows * max_blocks())) {}

Status Engine::submit(const Request& request) {
  const std::int64_t most = max_blocks() * block_size();
  const std::int64_t prompt = std::ssize(request.prompt);
  RECTO_RETURN_IF_ERROR(check_field("num_samples", request.num_samples, limits_.max_rows));
  RECTO_RETURN_IF_ERROR(check_field("tokens of the prompt", prompt, most - 1));
  RECTO_RETURN_IF_ERROR(check_field("num_outputs", request.num_outputs, most - prompt));
  waiting_.push_back({.answer = {.request = request.name, .tokens = request.prompt},
                      .final_length = std::ssize(request.prompt) + request.num_outputs,
                      .more_samples = request.num_samples - 1});
  return Status::ok();
}

bool Engine::step() {
  admit();
  if (running_.empty()) return false;
  grow();
  write_step();
  publish_and_sample();
  return true;
}

// First come, first served. A request that exhausts something waits for others to end. If no other
// runs it can never be served; any other failure is the request's own fault.
void Engine::admit() {
  while (!waiting_.empty()) {
    Sample sample = waiting_.front();
    if (rows_spoken_for() + 1 + sample.more_samples > limits_.max_rows) return;
    const Status status = admit(sample);
    if (status.code() == StatusCode::kExhausted && !running_.empty()) return;
    waiting_.pop_front();
    if (status.is_ok()) {
      take_row(sample);
      running_.push_back(std::move(sample));
      continue;
    }
    if (sample.sequence) RECTO_CHECK_EQ(manager_.release(*sample.sequence), Status::ok());
    sample.answer.status = status;
    answers_.push_back(std::move(sample.answer));
  }
}

// A preempted sample keeps its handle, and its place among the manager's sequences.
Status Engine::admit(Sample& sample) {
  const Prompt prompt{.tokens = {.ids = sample.answer.tokens, .items = {}}, .keys = {}};
  if (sample.sequence) {
    const Result<TokenCount> hit = manager_.resume(*sample.sequence, prompt);
    RECTO_RETURN_IF_ERROR(hit.status());
    sample.computed = hit.value().value();
    return Status::ok();
  }
  const Result<Admission> admission = manager_.admit(prompt);
  RECTO_RETURN_IF_ERROR(admission.status());
  sample.sequence = admission.value().sequence;
  sample.computed = admission.value().hit.value();
  return Status::ok();
}

void Engine::take_row(Sample& sample) {
  sample.row = 0;
  while (tables_->row(sample.row)) ++sample.row;
  RECTO_CHECK_EQ(tables_->assign(sample.row, *sample.sequence), Status::ok());
}

// Rows of the running samples and of the further samples that will branch off them.
std::int32_t Engine::rows_spoken_for() const {
  std::int32_t rows = 0;
  for (const Sample& sample : running_) rows += 1 + sample.more_samples;
  return rows;
}

// Reserves slots for the tokens of this step. Prompts have had theirs since admission. The samples
// that need one more token get it all together, or the latest arrival is preempted.
void Engine::grow() {
  for (Sample& sample : running_) {
    sample.in_step = std::min(sample.length() - sample.computed, limits_.max_chunk);
    if (sample.needs_one()) continue;
    copy(manager_.append(*sample.sequence, TokenCount(sample.in_step)).value());
  }
  while (true) {
    std::vector<SequenceHandle> batch;
    for (const Sample& sample : running_) {
      if (sample.needs_one()) batch.push_back(*sample.sequence);
    }
    const Result<std::span<const BlockCopy>> copies = manager_.append(batch);
    if (copies.is_ok()) return copy(copies.value());
    RECTO_CHECK_EQ(static_cast<int>(copies.status().code()),
                   static_cast<int>(StatusCode::kExhausted));
    preempt_last();
  }
}

// Generated tokens are computed again too, except those still cached on return.
void Engine::preempt_last() {
  ++num_preemptions_;
  Sample sample = std::move(running_.back());
  running_.pop_back();
  RECTO_CHECK_EQ(manager_.preempt(*sample.sequence), Status::ok());
  RECTO_CHECK_EQ(tables_->clear(sample.row), Status::ok());
  waiting_.push_front(std::move(sample));
}

// Call this before the next call of the manager, or in the order of its answers: the source blocks
// may belong to another sequence afterwards.
void Engine::copy(std::span<const BlockCopy> copies) {
  for (const BlockCopy& copy : copies) {
    std::copy_n(cache_.begin() + copy.source.value() * block_size(), copy.slots.value(),
                cache_.begin() + copy.destination.value() * block_size());
  }
  num_copies_ += std::ssize(copies);
}

// Uploads the tables, then writes K and V of the step's tokens.
void Engine::write_step() {
  for (const TableRange& range : tables_->update()) {
    std::copy_n(host_tables_.begin() + range.first, range.count,
                device_tables_.begin() + range.first);
  }
  std::vector<TokenRange> step;
  std::vector<TokenId> tokens;
  for (Sample& sample : running_) {
    step.push_back({*sample.sequence, sample.computed, sample.in_step});
    const auto first = sample.answer.tokens.begin() + sample.computed;
    tokens.insert(tokens.end(), first, first + sample.in_step);
    sample.computed += sample.in_step;
  }
  std::vector<std::int64_t> slots(tokens.size());
  RECTO_CHECK_EQ(write_slot_mapping(manager_, 0, step, slots), Status::ok());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    cache_[static_cast<std::size_t>(slots[i])] = tokens[i];
  }
}

std::int64_t Engine::attend(const Sample& sample) const {
  std::int64_t sum = 0;
  for (std::int64_t at = 0; at < sample.computed; ++at) {
    const std::int64_t entry = sample.row * max_blocks() + at / block_size();
    const std::int64_t block = device_tables_[static_cast<std::size_t>(entry)];
    sum += (at + 1) * cache_[static_cast<std::size_t>(block * block_size() + at % block_size())];
  }
  return sum;
}

// Publishes what the batch has computed; samples whose prompts are complete get their next token.
void Engine::publish_and_sample() {
  for (Sample& sample : std::exchange(running_, {})) {
    const Tokens tokens{.ids = sample.answer.tokens, .items = {}};
    RECTO_CHECK_EQ(manager_.commit(*sample.sequence, tokens), Status::ok());
    if (sample.computed < sample.length()) {
      running_.push_back(std::move(sample));
      continue;
    }
    const std::int64_t sum = attend(sample);
    const std::int32_t more = std::exchange(sample.more_samples, 0);
    for (std::int32_t number = 1; number <= more; ++number) branch(sample, number, sum);
    go_on(std::move(sample), sum);
  }
}

// Shares the parent's blocks: the first sequence to write to a partly filled one gets a copy of it.
void Engine::branch(const Sample& parent, std::int32_t number, std::int64_t sum) {
  Sample child = parent;
  child.answer.sample = number;
  child.sequence = manager_.fork(*parent.sequence).value();
  take_row(child);
  go_on(std::move(child), sum);
}

void Engine::go_on(Sample sample, std::int64_t sum) {
  sample.answer.tokens.push_back(next_token(sum, sample.length(), sample.answer.sample));
  if (sample.length() < sample.final_length) {
    running_.push_back(std::move(sample));
    return;
  }
  RECTO_CHECK_EQ(tables_->clear(sample.row), Status::ok());
  RECTO_CHECK_EQ(manager_.release(*sample.sequence), Status::ok());
  answers_.push_back(std::move(sample.answer));
}

}  // namespace recto::cache::example
