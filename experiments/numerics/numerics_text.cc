#include "experiments/numerics/numerics_text.h"

#include <fmt/format.h>

#include "experiments/support/numbers.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

// "1.2e-4".
std::string size_text(double size) {
  std::string text = fmt::format("{:.1e}", size);
  if (text.size() > 2 && text[text.size() - 2] == '0') text.erase(text.size() - 2, 1);
  return text;
}

std::string of_draws(std::int64_t refused, const CellResult& result) {
  return fmt::format("{}/{}", refused, result.cell.draws);
}

std::vector<std::string> first_cells(const CellResult& result) {
  return {element_type_name(result.cell.type), grouped(result.cell.num_keys)};
}

std::string size_cell(const Threshold& threshold) {
  return threshold.sight == Sight::kSeen ? size_text(threshold.realised)
                                         : sight_name(threshold.sight);
}

}  // namespace

const char* sight_name(Sight sight) {
  constexpr const char* kNames[] = {"seen", "always", "never"};
  return kNames[static_cast<int>(sight)];
}

std::string sharpness_text(const std::vector<CellResult>& results) {
  Table table({{"type", Align::kLeft},
               {"n"},
               {"draws"},
               {"out: sharp"},
               {"worst"},
               {"hard"},
               {"worst"},
               {"lse: sharp"},
               {"worst"},
               {"hard"},
               {"worst"},
               {"beyond"}});
  for (const CellResult& result : results) {
    std::vector<std::string> cells = first_cells(result);
    cells.push_back(grouped(result.cell.draws));
    const Sharpness& sharpness = result.sharpness;
    for (const Share& share :
         {sharpness.out_sharp, sharpness.out_hard, sharpness.lse_ln_sharp, sharpness.lse_ln_hard}) {
      cells.push_back(size_text(share.median));
      cells.push_back(size_text(share.worst));
    }
    cells.push_back(grouped(sharpness.beyond_sharp));
    table.add_row(cells);
  }
  return "How much of its error bounds a right kernel uses: |error| / bound, median and worst\n\n" +
         table.text() +
         fmt::format(
             "\n"
             "One decode row against n keys, head dims {0}, scale 1 / sqrt({0}), normal q, K and V "
             "of the type;\n"
             "tiles of 64 keys; fp16 and bf16 truncate sums in steps of 16 terms. Shares of 1; "
             "over "
             "all\n"
             "elements of all draws. beyond: elements of out with an error beyond the sharp "
             "bound.\n",
             kHeadDim);
}

std::string thresholds_text(const std::vector<CellResult>& results) {
  std::vector<TableColumn> columns{{"type", Align::kLeft}, {"n"}, {"fault", Align::kLeft}};
  for (const Judge judge : kJudges) {
    columns.push_back({judge_name(judge)});
    columns.push_back({"refused"});
  }
  Table table(columns);
  for (const CellResult& result : results) {
    std::vector<std::string> cells = first_cells(result);
    cells.emplace_back("none");
    for (const std::int64_t refused : result.refused_right) {
      cells.emplace_back("-");
      cells.push_back(of_draws(refused, result));
    }
    table.add_row(cells);
    for (const Fault fault : kFaults) {
      cells = {"", "", fault_name(fault)};
      for (const Threshold& threshold : result.thresholds[static_cast<std::size_t>(fault)]) {
        cells.push_back(size_cell(threshold));
        cells.push_back(threshold.sight == Sight::kNever ? "-"
                                                         : of_draws(threshold.refused, result));
      }
      table.add_row(cells);
    }
  }
  return "The smallest fault that each judge of out sees in 99 % of draws\n\n" + table.text() +
         fmt::format(
             "\n"
             "Sizes: of a dropped key, and of a key whose V is another's, its softmax weight, as "
             "rounding left\n"
             "it; of a scale error, relative. refused: fresh draws with a fault of that size that "
             "were refused;\n"
             "none: right runs that were. Judges: |error| against the bounds, against {}, against "
             "twice\n"
             "the largest error of the plain run in the same types (FlashAttention's tests add a "
             "small\n"
             "absolute allowance). always: right runs are refused as often; never: at no size "
             "below 1.\n",
             kFixedTolerance);
}

}  // namespace recto::experiments
