#include "experiments/numerics/numerics_study.h"

#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

const Threshold& threshold_of(const CellResult& result, Fault fault, Judge judge) {
  return result.thresholds[static_cast<std::size_t>(fault)][static_cast<std::size_t>(judge)];
}

double size_of(const CellResult& result, Fault fault, Judge judge) {
  const Threshold& threshold = threshold_of(result, fault, judge);
  REQUIRE(threshold.sight == Sight::kSeen);
  return threshold.size;
}

// The number of the cell's draws, of a round not used before, that refuse a fault of this size. No
// attempt stops early, because each draw is a separate round.
std::int64_t refused(const StudyCell& cell, Fault fault, Judge judge, double size) {
  std::int64_t count = 0;
  for (int round = 1000; round < 1000 + cell.draws; ++round) {
    StudyCell single = cell;
    single.draws = 1;
    std::vector<Attempt> attempts{{fault, judge, size}};
    confirm(single, round, attempts);
    count += attempts[0].refused;
  }
  return count;
}

// By default one type and one fault.
TEST_CASE("faults of the sizes found are refused again, and 20 times smaller ones are not") {
  const bool all = is_full_run();
  int tried = 0;
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16}) {
    if (type != ElementType::kFp32 && !all) continue;
    const StudyCell cell{type, 64, 100, 7};
    const CellResult result = study(cell);
    for (const Fault fault : kFaults) {
      if (fault != kFaults.front() && !all) continue;
      for (const Judge judge : kJudges) {
        const Threshold& threshold = threshold_of(result, fault, judge);
        INFO(fault_name(fault) << " before " << judge_name(judge) << " in " << type);
        // If a judge refuses most right runs, it refuses a fault of any size: bf16 under 1e-3.
        if (result.refused_right[static_cast<std::size_t>(judge)] > 50) continue;
        REQUIRE(threshold.sight == Sight::kSeen);
        CHECK(threshold.refused >= 95);
        CHECK(refused(cell, fault, judge, threshold.size) >= 95);  // 99 % of other draws
        CHECK(refused(cell, fault, judge, threshold.size / 20) <= 10);
        ++tried;
      }
    }
  }
  CHECK(tried == (all ? 18 + 15 : 6));
}

TEST_CASE("an attempt is given up after too many misses") {
  const StudyCell cell{ElementType::kBf16, 16, 100, 7};
  std::vector<Attempt> attempts{{Fault::kDroppedKey, Judge::kWorstCase, 1e-9},
                                {Fault::kDroppedKey, Judge::kWorstCase, 0.5}};
  confirm(cell, 0, attempts);
  CHECK(attempts[0].refused == 0);
  CHECK(attempts[0].realised.size() == 2);
  CHECK(attempts[1].refused == 100);
  CHECK(attempts[1].realised.size() == 100);
}

TEST_CASE("the supported share is the 95 % lower confidence bound of the refused share") {
  // 0.95 confidence: share^draws = 0.05 where all were refused.
  for (const std::int64_t draws : {1, 8, 16, 64, 299, 100'000}) {
    CHECK(supported_share(draws, draws) ==
          Approx(std::pow(0.05, 1 / static_cast<double>(draws))).epsilon(1e-9));
  }
  CHECK(supported_share(299, 299) >= 0.99);
  CHECK(supported_share(298, 298) < 0.99);
  CHECK(supported_share(0, 7) == 0);
  // Nine or more of ten: 10 p^9 - 9 p^10 = 0.05.
  CHECK(supported_share(9, 10) == Approx(0.6058367).epsilon(1e-6));
}

TEST_CASE("found sizes are counted on draws other than those that found them") {
  const StudyCell cell{ElementType::kBf16, 16, 40, 7};
  std::vector<Attempt> attempts{{Fault::kDroppedKey, Judge::kWorstCase, 1e-9},
                                {Fault::kDroppedKey, Judge::kWorstCase, 0.5}};
  verify_found(cell, attempts);
  CHECK(attempts[0].refused == 0);
  CHECK(attempts[0].realised.size() == 40);  // nothing is given up
  CHECK(attempts[1].refused == 40);
  std::vector<Attempt> searching{{Fault::kDroppedKey, Judge::kWorstCase, 0.5}};
  confirm(cell, 0, searching);
  CHECK(searching[0].realised != attempts[1].realised);
}

TEST_CASE("a kernel with an fp8 cache is judged by its own bounds and by those of others") {
  const CellResult result = study({{ElementType::kFp16, ElementType::kE4m3}, 64, 20, 3});
  CHECK(result.sharpness.beyond_probabilistic == 0);
  for (const Judge judge : {Judge::kProbabilistic, Judge::kWorstCase, Judge::kOthersProbabilistic,
                            Judge::kOthersWorstCase}) {
    CHECK(result.refused_right[static_cast<std::size_t>(judge)] == 0);
  }
  // The profile allows more than this kernel needs.
  CHECK(size_of(result, Fault::kDroppedKey, Judge::kOthersProbabilistic) >
        size_of(result, Fault::kDroppedKey, Judge::kProbabilistic));
}

TEST_CASE(
    "without a filter, draws have 65,536 keys together, but are neither too few nor too many") {
  CHECK(default_draws(16) == 100);
  CHECK(default_draws(655) == 100);
  CHECK(default_draws(656) == 99);
  CHECK(default_draws(4096) == 16);
  CHECK(default_draws(32'768) == 4);
}

TEST_CASE("one draw in a hundred may be missed") {
  CHECK(misses_allowed(99) == 0);
  CHECK(misses_allowed(100) == 1);
  CHECK(misses_allowed(199) == 1);
  CHECK(misses_allowed(200) == 2);
}

TEST_CASE("right kernels stay within the probabilistic bound, and use some of it") {
  for (const ElementType type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16}) {
    const CellResult result = study({type, 32, 20, 3});
    const Sharpness& sharpness = result.sharpness;
    CHECK(sharpness.beyond_probabilistic == 0);
    for (const Share& share : {sharpness.out_worst_case, sharpness.out_probabilistic,
                               sharpness.lse_ln_worst_case, sharpness.lse_ln_probabilistic}) {
      CHECK(share.median > 1e-4);
      CHECK(share.median < share.worst);
      CHECK(share.worst < 1);
    }
    CHECK(sharpness.out_worst_case.worst <= sharpness.out_probabilistic.worst);
    CHECK(sharpness.lse_ln_worst_case.worst <= sharpness.lse_ln_probabilistic.worst);
    CHECK(result.refused_right[static_cast<std::size_t>(Judge::kProbabilistic)] == 0);
    CHECK(result.refused_right[static_cast<std::size_t>(Judge::kWorstCase)] == 0);
  }
}

TEST_CASE("a fixed tolerance refuses right bf16 kernels of short contexts, whatever the fault") {
  const CellResult result = study({ElementType::kBf16, 4, 20, 3});
  CHECK(result.refused_right[static_cast<std::size_t>(Judge::kFixed)] == 20);
  const Threshold& threshold = threshold_of(result, Fault::kScaleError, Judge::kFixed);
  CHECK(threshold.sight == Sight::kAlways);
  CHECK(threshold.refused == 20);
  CHECK(threshold_of(result, Fault::kDroppedKey, Judge::kProbabilistic).sight == Sight::kSeen);
}

TEST_CASE("a scale error is never seen in all draws if one draw's scores are almost equal") {
  // With two keys, such a draw is among the 20 of seed 5 and not among those of seed 4.
  const CellResult with = study({ElementType::kBf16, 2, 20, 5});
  const CellResult without = study({ElementType::kBf16, 2, 20, 4});
  CHECK(threshold_of(with, Fault::kScaleError, Judge::kWorstCase).sight == Sight::kNever);
  CHECK(threshold_of(without, Fault::kScaleError, Judge::kWorstCase).sight == Sight::kSeen);
  CHECK(threshold_of(with, Fault::kSwappedValue, Judge::kWorstCase).sight == Sight::kSeen);
}

TEST_CASE("rounding changes the size of each fault by less than 5 %") {
  const CellResult result = study({ElementType::kBf16, 64, 20, 5});
  for (const Fault fault : kFaults) {
    const Threshold& threshold = threshold_of(result, fault, Judge::kProbabilistic);
    CHECK(threshold.realised != threshold.size);
    CHECK(std::abs(threshold.realised / threshold.size - 1) < 0.05);
  }
}

TEST_CASE(
    "in bf16 at 4,096 keys the probabilistic bound sees dropped keys thrice as small as the "
    "worst-case one") {
  const CellResult result = study({ElementType::kBf16, 4096, 4, 1});
  CHECK(3 * size_of(result, Fault::kDroppedKey, Judge::kProbabilistic) <
        size_of(result, Fault::kDroppedKey, Judge::kWorstCase));
}

TEST_CASE(
    "in fp32 the probabilistic bound sees what a fixed tolerance misses by a factor of thirty") {
  const CellResult result = study({ElementType::kFp32, 1024, 10, 1});
  for (const Fault fault : kFaults) {
    CHECK(30 * size_of(result, fault, Judge::kProbabilistic) <
          size_of(result, fault, Judge::kFixed));
    CHECK(5 * size_of(result, fault, Judge::kProbabilistic) <
          size_of(result, fault, Judge::kWorstCase));
  }
}

TEST_CASE(
    "draws depend on the seed, the type, the number of keys and their kind, and nothing else") {
  const StudyCell cell{ElementType::kBf16, 64, 10, 5};
  const auto first = [](const StudyCell& of, const char* kind, std::int64_t draw) {
    return draw_stream(of, kind, draw).next_u64();
  };
  StudyCell more = cell;
  more.draws = 1000;
  CHECK(first(more, "x", 0) == first(cell, "x", 0));
  CHECK(first(cell, "x", 1) != first(cell, "x", 0));
  CHECK(first(cell, "y", 0) != first(cell, "x", 0));
  for (const StudyCell& other :
       {StudyCell{ElementType::kFp16, 64, 10, 5}, StudyCell{ElementType::kBf16, 65, 10, 5},
        StudyCell{ElementType::kBf16, 64, 10, 6}}) {
    CHECK(first(other, "x", 0) != first(cell, "x", 0));
  }
}

}  // namespace
}  // namespace recto::experiments
