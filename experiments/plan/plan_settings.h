#pragma once

// The command line of `recto plan`, and the options that it stands for.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/plan/kv_plan.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct PlanSettings {
  RunConfig run;  // only its model, card, block size and pool
  std::string kv_dtype = "fp16";
  std::optional<double> reserve_gib;  // nullopt: kDefaultReserve
  std::vector<std::int64_t> lengths;
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> output;
  std::vector<std::int64_t> mean_lengths;
  std::optional<std::int64_t> max_length;
  std::int64_t batch = 1;
  enum class KvHeads : std::uint8_t { kOfModel, kOnePerQueryHead } kv_heads = KvHeads::kOfModel;
};

// The types that `kv_dtype` may name, and the bytes of each.
struct KvDtype {
  const char* name;
  std::int64_t bytes;
};
const std::vector<KvDtype>& kv_dtypes();

// Looks names up, and takes common lengths if none are given. Invalid input names the flag; the
// plan itself checks the rest.
Result<KvPlanOptions> plan_options(const PlanSettings& settings);

}  // namespace recto::experiments
