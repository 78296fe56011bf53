// One step of the engine: which tokens are computed, where their K and V go, and what follows.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/contract.h"
#include "cuda/cache/slot_mapping.h"
#include "verify/engine/engine.h"

namespace recto::verify {

using reference::Matrix;
using reference::Vector;

std::vector<EnginePart> Engine::parts() {
  std::vector<EnginePart> parts;
  for (const sim::Group* group : scheduler_->holders()) {
    for (std::size_t member = 0; member < group->members.size(); ++member) {
      std::int64_t rows = 0;
      if (group->phase == sim::GroupPhase::kDecoding) rows = 1;
      const bool prefills =
          group->phase == sim::GroupPhase::kPrefilling && member == group->prefill_member;
      if (prefills) rows = group->planned_chunk;
      if (rows > 0) parts.push_back(part(*group, member, rows));
    }
  }
  return parts;
}

EnginePart Engine::part(const sim::Group& group, std::size_t member, std::int64_t rows) {
  EnginePart part;
  part.job = &jobs_.at(group.request.id);
  part.sequence = group.members[member];
  part.shape = {.request = group.request.id,
                .member = static_cast<std::int32_t>(member),
                .context = scheduler_->context(group, member),
                .rows = rows,
                .drafts = 0,
                .blocks = {}};
  const std::span<const Token> text = part.job->text(part.shape.member);
  const std::int64_t end = part.shape.context + rows;
  RECTO_CHECK_LE(end, std::ssize(text));
  part.ends_text = end == std::ssize(text);
  const auto first = text.begin() + part.shape.context;
  part.tokens.assign(first, first + rows);
  if (group.phase == sim::GroupPhase::kDecoding) {
    RECTO_CHECK(part.ends_text);
    add_drafts(group, part);
  } else {
    run_.counts.chunks += part.ends_text ? 0 : 1;
    part.is_shifted = options_.fault == EngineFault::kShiftedPosition && group.preemptions > 0;
  }
  for (const BlockId block : cache_->block_table(part.sequence)) {
    part.shape.blocks.push_back(block.value());
  }
  return part;
}

// As many as the request still has outputs for, and the pool has room for.
void Engine::add_drafts(const sim::Group& group, EnginePart& part) {
  if (options_.draft_tokens == 0 || group.request.decoding == sim::Decoding::kBeam) return;
  const std::int64_t left = group.final_context() - part.shape.context - 1;
  part.drafts = part.job->drafts(part.shape.member, std::min(left, options_.draft_tokens));
  if (part.drafts.empty()) return;
  const TokenCount room = cache_->append_drafts(part.sequence, TokenCount(part.shape.context),
                                                TokenCount(1 + std::ssize(part.drafts)));
  part.drafts.resize(static_cast<std::size_t>(room.value() - 1));
  part.tokens.insert(part.tokens.end(), part.drafts.begin(), part.drafts.end());
  part.shape.drafts = std::ssize(part.drafts);
  part.shape.rows += part.shape.drafts;
  run_.counts.drafted += part.shape.drafts;
}

void Engine::note(const std::vector<EnginePart>& parts) {
  EngineStep step{.step = now_, .sequences = {}};
  std::set<std::int32_t> blocks;
  std::int64_t entries = 0;
  for (const EnginePart& part : parts) {
    step.sequences.push_back(part.shape);
    run_.counts.rows += part.shape.rows;
    entries += std::ssize(part.shape.blocks);
    blocks.insert(part.shape.blocks.begin(), part.shape.blocks.end());
  }
  ++run_.counts.steps;
  run_.counts.shared_blocks += entries - std::ssize(blocks);
  run_.steps.push_back(std::move(step));
}

StepRows Engine::rows_of(std::span<EnginePart* const> parts) const {
  StepRows step;
  std::vector<cache::TokenRange> ranges;
  std::int64_t rows = 0;
  step.query_start = {0};
  for (const EnginePart* part : parts) {
    ranges.push_back({.sequence = cache_->handle(part->sequence),
                      .first = part->shape.context,
                      .count = part->shape.rows});
    rows += part->shape.rows;
    step.query_start.push_back(static_cast<std::int32_t>(rows));
    step.context_length.push_back(
        static_cast<std::int32_t>(part->shape.context + part->shape.rows));
    step.max_blocks = std::max<std::int64_t>(step.max_blocks, std::ssize(part->shape.blocks));
  }
  step.slots.resize(static_cast<std::size_t>(rows));
  RECTO_CHECK_EQ(cache::write_slot_mapping(cache_->manager(), 0, ranges, step.slots), Status::ok());
  for (const EnginePart* part : parts) {
    std::vector<std::int32_t> row = part->shape.blocks;
    const bool is_new = part->shape.context % options_.block_size == 0 && row.size() > 1;
    if (options_.fault == EngineFault::kStaleTable && is_new) row.back() = row[row.size() - 2];
    row.resize(static_cast<std::size_t>(step.max_blocks), -1);
    step.table.insert(step.table.end(), row.begin(), row.end());
  }
  return step;
}

// Parts of prompts are launched, not replayed: their number of rows changes from step to step.
bool Engine::replays(std::span<EnginePart* const> parts) {
  if (options_.graphs == StepGraphs::kOff) return false;
  std::int64_t drafts = 0;
  bool decode = true;
  for (const EnginePart* part : parts) {
    decode = decode && part->shape.decodes();
    drafts += part->shape.drafts;
  }
  EngineCounts& counts = run_.counts;
  (decode ? counts.replayed_steps : counts.launched_steps) += 1;
  counts.replayed_drafts += decode ? drafts : 0;
  return decode;
}

void Engine::compute(std::span<EnginePart* const> parts) {
  const StepRows step = rows_of(parts);
  std::vector<Token> tokens;
  std::vector<std::int64_t> positions;
  for (const EnginePart* part : parts) {
    tokens.insert(tokens.end(), part->tokens.begin(), part->tokens.end());
    for (std::int64_t row = 0; row < part->shape.rows; ++row) {
      positions.push_back(part->shape.context + row + (part->is_shifted ? 1 : 0));
    }
  }
  const bool is_replayed = replays(parts);
  Matrix x = model_.embed(tokens);
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    const HostModel::Projected projected = model_.project(layer, x, positions);
    if (is_replayed) {
      const Matrix attended = store_.decode(layer, step, projected.q, projected.k, projected.v);
      model_.finish_layer(layer, attended, x);
      continue;
    }
    store_.write(layer, step, projected.k, projected.v);
    model_.finish_layer(layer, store_.attend(layer, step, projected.q), x);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->ends_text) continue;
    const std::int64_t end = step.query_start[i + 1];
    for (std::int64_t row = end - 1 - parts[i]->shape.drafts; row < end; ++row) {
      parts[i]->logits.push_back(model_.logits(x, row));
    }
  }
}

std::vector<BeamBranching> Engine::choose(std::vector<EnginePart>& parts) {
  std::vector<BeamBranching> branchings;
  for (EnginePart& part : parts) {
    if (!part.ends_text) continue;
    EngineJob& job = *part.job;
    const bool is_first = job.outputs() == 0;
    if (!job.tell(part.shape.member, part.logits.front())) continue;
    std::vector<std::int32_t> parent_of = job.choose();
    if (job.request().decoding != sim::Decoding::kBeam || is_first || job.is_finished()) continue;
    for (std::size_t i = 0; i < parent_of.size(); ++i) {
      run_.counts.beam_switches += parent_of[i] == static_cast<std::int32_t>(i) ? 0 : 1;
    }
    branchings.push_back({.request = part.shape.request,
                          .parent_of = std::move(parent_of),
                          .context = TokenCount(part.shape.context + part.shape.rows)});
  }
  return branchings;
}

std::int64_t Engine::right_drafts(const EnginePart& part) const {
  return part.job->right_drafts(part.shape.member, part.drafts, std::span(part.logits).subspan(1));
}

// All sequences of a request have equal contexts: they keep as many drafts as were right in all of
// them. Returns the number by request, if it is not 0.
std::map<std::int64_t, std::int64_t> Engine::settle_drafts(std::vector<EnginePart>& parts) {
  std::map<std::int64_t, std::int64_t> kept;
  for (const EnginePart& part : parts) {
    if (options_.fault == EngineFault::kUncheckedDraft && !part.drafts.empty()) {
      part.job->replace_last(part.shape.member, part.drafts.front());
    }
    std::int64_t right = part.drafts.empty() ? 0 : right_drafts(part);
    const bool is_any_wrong = right < std::ssize(part.drafts);
    if (options_.fault == EngineFault::kRejectedDraft && is_any_wrong) ++right;
    const auto [found, is_first] = kept.try_emplace(part.shape.request, right);
    if (!is_first) found->second = std::min(found->second, right);
  }
  for (EnginePart& part : parts) {
    if (!part.drafts.empty()) keep_drafts(part, kept.at(part.shape.request));
  }
  std::erase_if(kept, [](const auto& each) { return each.second == 0; });
  return kept;
}

// Keeps K and V of the first `kept` drafts in place, with the tokens that followed from them, and
// rolls back the rest.
void Engine::keep_drafts(EnginePart& part, std::int64_t kept) {
  const std::int64_t rejected = part.shape.drafts - kept;
  run_.counts.accepted += kept;
  run_.counts.partial_rollbacks += kept > 0 && rejected > 0 ? 1 : 0;
  part.job->go_on(part.shape.member,
                  std::span(part.logits).subspan(1, static_cast<std::size_t>(kept)));
  const bool is_one_lost = options_.fault == EngineFault::kLostDraft && kept > 0;
  cache_->take_back(part.sequence, TokenCount(part.shape.context + 1),
                    TokenCount(is_one_lost ? kept - 1 : kept));
  tell(part.shape.request, fmt::format("keeps {} of {} drafts", kept, part.shape.drafts));
}

void Engine::go_on(const std::vector<BeamBranching>& branchings) {
  if (options_.fault == EngineFault::kWrongParent) return;
  for (const sim::Group* group : scheduler_->holders()) {
    for (const BeamBranching& branching : branchings) {
      if (group->request.id != branching.request) continue;
      cache_->branch(group->members, branching.parent_of, branching.context);
    }
  }
}

}  // namespace recto::verify
