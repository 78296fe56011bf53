#include "verify/ptx/program/layout.h"

#include <algorithm>
#include <cstring>

#include "verify/ptx/program/control_flow.h"
#include "verify/ptx/program/liveness.h"
#include "verify/ptx/program/register_touches.h"

namespace recto::ptx {
namespace {

constexpr std::uint32_t kRowAlignment = 64;
constexpr std::uint32_t kScratchBytes = 256;

std::uint32_t bytes_for(Width width) {
  return width == kPredicateWidth ? sizeof(LaneMask) : kWarpSize * width;
}

// Places of values of one width that have come free. A place keeps its width, so that a masked
// step never mixes lanes of different sizes.
class Places {
 public:
  ValuePlace take(Width width) {
    std::vector<ValuePlace>& free = free_[width];
    if (!free.empty()) {
      const ValuePlace place = free.back();
      free.pop_back();
      return place;
    }
    if (width == kPredicateWidth) {
      if (predicates_left_ == 0) {
        next_predicate_ = add(kRowAlignment);
        predicates_left_ = kRowAlignment / sizeof(LaneMask);
      }
      --predicates_left_;
      return std::exchange(next_predicate_,
                           next_predicate_ + static_cast<ValuePlace>(sizeof(LaneMask)));
    }
    return add(bytes_for(width));
  }
  void give_back(Width width, ValuePlace place) { free_[width].push_back(place); }
  // From now on only new places are taken, for what must never be overwritten.
  void forget_free() {
    for (std::vector<ValuePlace>& free : free_) free.clear();
  }
  ValuePlace add(std::uint32_t bytes) { return std::exchange(bytes_, bytes_ + bytes); }
  std::uint32_t bytes() const { return bytes_; }

 private:
  std::vector<ValuePlace> free_[9];
  ValuePlace next_predicate_ = 0;
  std::uint32_t predicates_left_ = 0;
  std::uint32_t bytes_ = 0;
};

class Layout {
 public:
  explicit Layout(Draft draft) : draft_(std::move(draft)), program_(draft_.program) {}

  Program finish(const LayoutOptions& options) {
    const ControlFlow flow = control_flow_of(program_);
    const Liveness liveness = liveness_of(draft_, flow);
    if (options.tracks_undefined) track(liveness.live_at_entry);
    if (options.tracks_undefined) watch_products(flow);
    place_variables(liveness);
    place_constants();
    for (Step& step : program_.steps) {
      for_each_value(step, program_.details,
                     [&](ValuePlace& value, bool) { value = places_of_[value]; });
    }
    // Fields that hold nothing must not point outside.
    for (Step& step : program_.steps) {
      for (ValuePlace* field : {&step.d, &step.e, &step.a, &step.b, &step.c}) {
        if (*field == kNoValue) *field = 0;
      }
    }
    number_sites();
    mark_joins(flow);
    mark_straight();
    return std::move(program_);
  }

 private:
  void place_variables(const Liveness& liveness) {
    program_.scratch_d = places_.add(kScratchBytes);
    program_.scratch_e = places_.add(kScratchBytes);
    places_of_.assign(draft_.values.size(), kNoValue);
    std::vector<std::vector<ValuePlace>> begins(program_.steps.size());
    std::vector<std::vector<ValuePlace>> ends(program_.steps.size());
    for (ValuePlace value = 0; value < draft_.values.size(); ++value) {
      const LiveRange& range = liveness.ranges[value];
      if (draft_.values[value].kind != ValueKind::kVariable || range.is_empty()) continue;
      begins[range.first].push_back(value);
      ends[range.last].push_back(value);
    }
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      // A value that ends here may give its place to a result of this step only if each lane is
      // read before it is written, which holds for lanes alone.
      const bool reuses =
          program_.steps[i].action == Action::kLanes && program_.steps[i].guard == kNoValue;
      const auto release = [&] {
        for (const ValuePlace value : ends[i]) {
          if (places_of_[value] == kNoValue) continue;
          places_.give_back(draft_.values[value].width, places_of_[value]);
        }
      };
      const auto begin = [&] {
        for (const ValuePlace value : begins[i]) {
          places_of_[value] = places_.take(draft_.values[value].width);
        }
      };
      if (reuses) {
        // Values that begin and end here are given back once they have a place.
        std::erase_if(ends[i], [&](ValuePlace value) {
          if (places_of_[value] == kNoValue) return false;
          places_.give_back(draft_.values[value].width, places_of_[value]);
          return true;
        });
      }
      begin();
      release();
    }
  }

  void place_constants() {
    places_.forget_free();
    for (ValuePlace value = 0; value < draft_.values.size(); ++value) {
      const Value& constant = draft_.values[value];
      if (constant.kind == ValueKind::kVariable) continue;
      const ValuePlace place = places_.take(constant.width);
      places_of_[value] = place;
      if (constant.kind == ValueKind::kSpecial) {
        program_.specials.push_back({place, constant.width, constant.special});
      } else if (constant.kind == ValueKind::kArgument) {
        program_.arguments.push_back(constant.argument);
        program_.arguments.back().place = place;
      }
    }
    program_.register_bytes = places_.bytes();
    program_.image.assign(program_.register_bytes, std::byte{0});
    for (ValuePlace value = 0; value < draft_.values.size(); ++value) {
      const Value& constant = draft_.values[value];
      if (constant.kind != ValueKind::kConstant) continue;
      std::byte* row = program_.image.data() + places_of_[value];
      if (constant.width == kPredicateWidth) {
        std::memcpy(row, &constant.bits, sizeof(LaneMask));
        continue;
      }
      for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        std::memcpy(row + lane * constant.width, &constant.bits, constant.width);
      }
    }
  }

  // What values that may be undefined reach; by values, which is more than by paths.
  void track(const std::vector<ValuePlace>& live_at_entry) {
    std::vector<bool> is_tracked(draft_.values.size(), false);
    for (const ValuePlace value : live_at_entry) is_tracked[value] = true;
    for (bool changes = !live_at_entry.empty(); changes;) {
      changes = false;
      for (Step& step : program_.steps) {
        bool reaches = false;
        for_each_value(step, program_.details, [&](ValuePlace value, bool is_def) {
          if (!is_def) reaches |= is_tracked[value];
          if (is_def && reaches && !is_tracked[value] && passes_undefined(step.action)) {
            is_tracked[value] = true;
            changes = true;
          }
        });
      }
    }
    for (Step& step : program_.steps) {
      for_each_value(step, program_.details,
                     [&](ValuePlace value, bool) { step.is_tracked |= is_tracked[value]; });
    }
    program_.tracks_undefined = !live_at_entry.empty();
    for (const ValuePlace value : live_at_entry) undefined_.push_back(value);
    program_.undefined_at_entry = undefined_;
  }

  void watch_products(const ControlFlow& flow) {
    program_.touches = register_touches_of(draft_, flow);
    for (const RegisterTouch& touch : program_.touches) {
      program_.steps[touch.step].is_tracked = true;
    }
  }

  void number_sites() {
    for (Detail& detail : program_.details) {
      detail.memory.site = program_.num_sites++;
      detail.source.site = program_.num_sites++;
    }
  }

  void mark_joins(const ControlFlow& flow) {
    for (const BasicBlock& block : flow.blocks) {
      Step& last = program_.steps[block.end - 1];
      last.join = kNoStep;
      if (block.post_dominator == kNoBlock || block.successors.size() < 2) continue;
      last.join = flow.blocks[block.post_dominator].begin;
      program_.steps[last.join].is_join = true;
    }
    for (ValuePlace& value : program_.undefined_at_entry) value = places_of_[value];
  }

  void mark_straight() {
    std::uint16_t run = 0;
    for (std::size_t i = program_.steps.size(); i-- > 0;) {
      Step& step = program_.steps[i];
      const bool is_plain =
          step.action == Action::kLanes && step.guard == kNoValue && !step.is_tracked;
      run = static_cast<std::uint16_t>(is_plain ? std::min(run + 1, 0xffff) : 0);
      step.straight = run;
      if (step.is_join) run = 0;
    }
  }

  Draft draft_;
  Program& program_;
  Places places_;
  std::vector<ValuePlace> places_of_;  // by value
  std::vector<ValuePlace> undefined_;
};

}  // namespace

Program layout(Draft draft, const LayoutOptions& options) {
  return Layout(std::move(draft)).finish(options);
}

}  // namespace recto::ptx
