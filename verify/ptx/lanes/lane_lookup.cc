// Finds forms by name, in the tables of the best instruction set that this machine has.

#include <unordered_map>

#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/lanes/step.h"

namespace recto::ptx {
namespace {

// Instruction sets contain those before them.
enum class InstructionSet : std::uint8_t { kPortable, kAvx2, kAvx512 };

InstructionSet instruction_set() {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx2) return has_avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#endif
  return InstructionSet::kPortable;
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
    const InstructionSet best = instruction_set();
    LaneTables tables;
    if (best == InstructionSet::kAvx512) tables = avx512_lane_tables();
    if (best == InstructionSet::kAvx2) tables = avx2_lane_tables();
    return tables.load_all_lanes != nullptr ? tables : portable_lane_tables();
  }();
  return kTables;
}

const LaneForm* find_lane_form(std::string_view form) {
  static const FormMap kForms = map_of(lane_tables());
  const auto found = kForms.find(form);
  return found == kForms.end() ? nullptr : found->second;
}

}  // namespace recto::ptx
