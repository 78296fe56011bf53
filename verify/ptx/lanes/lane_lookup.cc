// Finds forms by name, in the tables of the best instruction set that this machine has.

#include <unordered_map>

#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/lanes/step.h"

namespace recto::ptx {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

using FormMap = std::unordered_map<std::string_view, const LaneForm*>;

FormMap map_of(const LaneTables& tables) {
  FormMap map;
  for (const auto& table :
       {tables.integers, tables.floats, tables.conversions, tables.approximations}) {
    for (const LaneForm& form : table) map.emplace(form.form, &form);
  }
  return map;
}

}  // namespace

const LaneTables& lane_tables() {
  static const LaneTables kTables = [] {
    const LaneTables best = has_avx2() ? avx2_lane_tables() : LaneTables();
    return best.load_all_lanes != nullptr ? best : portable_lane_tables();
  }();
  return kTables;
}

const LaneForm* find_lane_form(std::string_view form) {
  static const FormMap kForms = map_of(lane_tables());
  const auto found = kForms.find(form);
  return found == kForms.end() ? nullptr : found->second;
}

}  // namespace recto::ptx
