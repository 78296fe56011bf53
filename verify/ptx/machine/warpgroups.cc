#include "verify/ptx/machine/warpgroups.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "verify/ptx/arithmetic/wgmma.h"

namespace recto::ptx {
namespace {

constexpr std::uint32_t kWarps = kWarpgroupWarps;
constexpr std::uint32_t kPieceBytes = 16;
constexpr std::uint32_t kPieceElements = 8;  // of kMn, whose elements have 16 bits
constexpr std::uint32_t kRows = 64;
constexpr int kARegisters = 4;

// The value that a register has in all lanes; nothing if they differ.
template <typename T>
std::optional<T> uniform(const Warp& warp, ValuePlace place) {
  const T* const row = warp.row<T>(place);
  const bool is_uniform = std::all_of(row, row + kWarpSize, [&](T x) { return x == row[0]; });
  return is_uniform ? std::optional(row[0]) : std::nullopt;
}

}  // namespace

void Warpgroups::begin(std::uint32_t warps) {
  warps_.assign(warps, {});
  groups_.assign((warps + kWarps - 1) / kWarps, {});
  for (WarpState& warp : warps_) warp.stream = memory_.run().num_streams++;
}

std::uint32_t Warpgroups::index_of(const Step& step) const {
  return static_cast<std::uint32_t>(&step - memory_.run().program.steps.data());
}

bool Warpgroups::report(const WarpStep& at, Check check, std::string what) {
  memory_.reporter().abandon(check, at.warp.thread(0), at.step, std::move(what));
  return false;
}

// All warps of a warpgroup execute the same instructions in the same order.
bool Warpgroups::follow(const WarpStep& at, std::uint64_t a, std::uint64_t b) {
  const std::uint32_t number = at.warp.number / kWarps;
  if ((number + 1) * kWarps > warps_.size() || at.lanes != kAllLanes) {
    return report(at, Check::kWarpgroup, "is not in a warpgroup of 128 threads that all take part");
  }
  GroupState& group = groups_[number];
  WarpState& warp = warps_[at.warp.number];
  const Record record{index_of(at.step), a, b};
  const std::size_t at_record = warp.executed - group.first;
  if (at_record == group.records.size()) {
    group.records.push_back(record);
  } else if (group.records[at_record] != record) {
    Finding found = memory_.reporter().finding(Check::kWarpgroup, at.warp.thread(0), at.step,
                                               "differs from what its warpgroup executes");
    const Step& other = memory_.run().program.steps[group.records[at_record].step];
    found.other_place = memory_.run().code_place(other.place);
    found.other_what = &other == &at.step ? "has other matrix descriptors" : "is executed instead";
    memory_.reporter().abandon(std::move(found));
    return false;
  }
  ++warp.executed;
  std::uint32_t all = warp.executed;
  for (std::uint32_t w = number * kWarps; w < (number + 1) * kWarps; ++w) {
    all = std::min(all, warps_[w].executed);
  }
  if (all > group.first) {
    group.records.erase(group.records.begin(), group.records.begin() + (all - group.first));
    group.first = all;
  }
  return true;
}

bool Warpgroups::fence(const WarpStep& at) {
  WarpState& warp = warps_[at.warp.number];
  warp.has_fenced = true;
  warp.unfenced.clear();
  return follow(at, 0, 0);
}

bool Warpgroups::commit(const WarpStep& at) {
  ++warps_[at.warp.number].committed;
  return follow(at, 0, 0);
}

bool Warpgroups::wait(const WarpStep& at, const Detail& detail) {
  WarpState& warp = warps_[at.warp.number];
  if (warp.committed > detail.count) {
    const auto done = static_cast<std::uint32_t>(warp.committed - detail.count);
    std::erase_if(warp.pending, [&](const Product& product) { return product.group < done; });
    if (memory_.checker() != nullptr) {
      memory_.checker()->finish_operations(at.warp.number, {warp.stream, done});
    }
  }
  return follow(at, 0, 0);
}

bool Warpgroups::check_registers(const Warp& warp, const Step& step) {
  const Program& program = memory_.run().program;
  WarpState& state = warps_[warp.number];
  const std::uint32_t index = index_of(step);
  const RegisterTouch first{index, 0, false};
  for (auto touch = std::lower_bound(program.touches.begin(), program.touches.end(), first);
       touch != program.touches.end() && touch->step == index; ++touch) {
    if (touch->is_before) {
      state.unfenced.push_back(touch->product);
      continue;
    }
    const bool is_pending =
        std::any_of(state.pending.begin(), state.pending.end(),
                    [&](const Product& product) { return product.step == touch->product; });
    if (!is_pending) continue;
    Finding found =
        memory_.reporter().finding(Check::kWarpgroup, warp.thread(0), step,
                                   "touches a register of a product that is not waited for");
    found.other_place = memory_.run().code_place(program.steps[touch->product].place);
    found.other_what = "the product begins";
    memory_.reporter().abandon(std::move(found));
    return false;
  }
  return true;
}

bool Warpgroups::may_multiply(const WarpStep& at, const Detail& detail) {
  WarpState& warp = warps_[at.warp.number];
  const std::uint32_t index = index_of(at.step);
  if (!warp.has_fenced) {
    return report(at, Check::kWarpgroup, "is the first product, and follows no wgmma.fence");
  }
  if (std::find(warp.unfenced.begin(), warp.unfenced.end(), index) != warp.unfenced.end()) {
    return report(at, Check::kWarpgroup,
                  "has registers that were touched since the last wgmma.fence");
  }
  const LaneMask adds = at.warp.mask_at(detail.uses[0]);
  if (adds != 0 && adds != kAllLanes) {
    return report(at, Check::kWarpgroup, "has a scale-d that differs between lanes");
  }
  return true;
}

bool Warpgroups::multiply(const WarpStep& at, const Detail& detail) {
  const bool has_a_registers = (at.step.uses & kFieldA) == 0;
  const auto b = uniform<std::uint64_t>(at.warp, at.step.b);
  const auto a = has_a_registers ? std::optional(std::uint64_t{0})
                                 : uniform<std::uint64_t>(at.warp, at.step.a);
  if (!a || !b) return report(at, Check::kWarpgroup, "has descriptors that differ between lanes");
  if (!follow(at, *a, *b) || !may_multiply(at, detail)) return false;
  WarpState& state = warps_[at.warp.number];
  std::uint32_t operation = 0;
  if (memory_.checker() != nullptr) {
    operation = memory_.run().checker->begin_operation({state.stream, state.committed});
  }
  const auto columns = static_cast<std::uint32_t>(detail.warpgroup.columns);
  std::vector<std::byte> a_bytes(kRows * kWgmmaLineBytes);
  std::vector<std::byte> b_bytes(columns * kWgmmaLineBytes);
  const Factor a_factor = part_of_a(at, detail, *a);
  const Factor b_factor = all_of(detail.major_b, detail.warpgroup.depth(), columns, *b);
  if (!has_a_registers && !collect(at, a_factor, operation, a_bytes.data())) return false;
  if (!collect(at, b_factor, operation, b_bytes.data())) return false;
  compute(at, detail, a_bytes.data(), b_bytes.data());
  state.pending.push_back({index_of(at.step), state.committed});
  return true;
}

Warpgroups::Factor Warpgroups::all_of(Major major, int depth, std::uint32_t width,
                                      std::uint64_t descriptor) {
  Factor factor{descriptor, major};
  const bool is_by_k = major == Major::kK;
  factor.num_lines = is_by_k ? width : static_cast<std::uint32_t>(depth);
  factor.num_pieces = factor.line_pieces = is_by_k ? 2 : width / kPieceElements;
  return factor;
}

// The rows of the warp.
Warpgroups::Factor Warpgroups::part_of_a(const WarpStep& at, const Detail& detail,
                                         std::uint64_t descriptor) {
  Factor factor = all_of(detail.major_a, detail.warpgroup.depth(), kRows, descriptor);
  const std::uint32_t warp = at.warp.number % kWarps;
  if (detail.major_a == Major::kK) {
    factor.num_lines = kWarpRows;
    factor.first_line = warp * kWarpRows;
  } else {
    factor.num_pieces = kWarpRows / kPieceElements;
    factor.first_piece = warp * factor.num_pieces;
  }
  return factor;
}

// Pieces of 16 bytes, up to 32 at a time, to their places in the whole factor.
bool Warpgroups::collect(const WarpStep& at, const Factor& factor, std::uint32_t operation,
                         std::byte* pieces) {
  const std::optional<SharedMatrix> matrix = decoded_matrix(factor.descriptor);
  if (!matrix) return report(at, Check::kRefused, "has a matrix descriptor with a base offset");
  const std::uint32_t count = factor.num_lines * factor.num_pieces;
  for (std::uint32_t first = 0; first < count; first += kWarpSize) {
    const std::uint32_t here = std::min(count - first, kWarpSize);
    const auto line = [&](std::uint32_t i) {
      return factor.first_line + (first + i) / factor.num_pieces;
    };
    const auto piece = [&](std::uint32_t i) {
      return factor.first_piece + (first + i) % factor.num_pieces;
    };
    LaneAddresses pointers = {};
    for (std::uint32_t i = 0; i < here; ++i) {
      pointers[i] = piece_address(*matrix, factor.major, line(i), piece(i));
    }
    const LaneMask lanes = here == kWarpSize ? kAllLanes : (LaneMask{1} << here) - 1;
    if (!memory_.access_shared(
            at.warp, MemorySpace::kShared,
            {&at.step, lanes, kPieceBytes, AccessKind::kAsyncRead, "multiplies", operation},
            pointers)) {
      return false;
    }
    for (std::uint32_t i = 0; i < here; ++i) {
      std::memcpy(pieces + (line(i) * factor.line_pieces + piece(i)) * kPieceBytes,
                  reinterpret_cast<const std::byte*>(pointers[i]), kPieceBytes);
    }
  }
  return true;
}

void Warpgroups::compute(const WarpStep& at, const Detail& detail, const std::byte* a,
                         const std::byte* b) {
  WgmmaShape shape = detail.warpgroup;
  shape.adds = at.warp.mask_at(detail.uses[0]) != 0;
  struct Numbers {
    WgmmaNumbers b;
    RegisterRow a[kARegisters];
    RegisterRow sums[kWgmmaColumnsMax / 2];
  };
  const auto numbers = std::make_unique<Numbers>();
  widen_b(shape, {b, detail.major_b}, numbers->b);
  const std::size_t first_a = 1 + detail.defs.size();
  for (std::size_t i = first_a; i < detail.uses.size(); ++i) {
    std::memcpy(numbers->a[i - first_a], at.warp.registers + detail.uses[i], sizeof(RegisterRow));
  }
  for (std::size_t i = 0; i < detail.defs.size(); ++i) {
    std::memcpy(numbers->sums[i], at.warp.registers + detail.defs[i], sizeof(RegisterRow));
  }
  wgmma(shape,
        {.a_registers = detail.uses.size() > first_a ? numbers->a : nullptr,
         .a = {a, detail.major_a},
         .b = numbers->b,
         .d = numbers->sums},
        static_cast<int>(at.warp.number % kWarps), memory_.run().options.matrix_sums);
  for (std::size_t i = 0; i < detail.defs.size(); ++i) {
    std::memcpy(at.warp.registers + detail.defs[i], numbers->sums[i], sizeof(RegisterRow));
  }
}

void Warpgroups::exit(const WarpStep& at) {
  const std::vector<Product>& pending = warps_[at.warp.number].pending;
  if (pending.empty() || memory_.checker() == nullptr) return;
  Finding found =
      memory_.reporter().finding(Check::kUnfinishedCopy, at.warp.thread(at.first_lane()), at.step,
                                 "exits before its product has ended");
  const Program& program = memory_.run().program;
  found.other_place = memory_.run().code_place(program.steps[pending[0].step].place);
  found.other_what = "the product begins";
  memory_.reporter().report(std::move(found));
}

void Warpgroups::check_ends(const Step& last) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].records.empty()) continue;
    for (std::size_t w = i * kWarps; w < std::min(warps_.size(), (i + 1) * kWarps); ++w) {
      if (warps_[w].executed > groups_[i].first) continue;
      Reporter& reporter = memory_.reporter();
      Finding found = reporter.finding(
          Check::kWarpgroup, static_cast<std::uint32_t>(w * kWarpSize), last,
          "exits without an instruction that the others of its warpgroup have executed");
      const Step& other = memory_.run().program.steps[groups_[i].records[0].step];
      found.other_place = memory_.run().code_place(other.place);
      found.other_what = "is that instruction";
      reporter.report(std::move(found));
      break;
    }
  }
}

}  // namespace recto::ptx
