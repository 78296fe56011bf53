// Products of warpgroups.

#include <charconv>

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

// wgmma.{fence, commit_group, wait_group, mma_async}.sync.aligned
bool Decoder::decode_warpgroup() {
  InstructionReader reader(*instruction_);
  const auto action = reader.take_one_of<Action>({{"fence", Action::kWarpgroupFence},
                                                  {"commit_group", Action::kWarpgroupCommit},
                                                  {"wait_group", Action::kWarpgroupWait},
                                                  {"mma_async", Action::kWarpgroupProduct}});
  if (!action || !reader.take("sync") || !reader.take("aligned")) return refuse();
  if (*action == Action::kWarpgroupProduct) return decode_warpgroup_product(reader);
  const auto& operands = instruction_->operands;
  const bool waits = *action == Action::kWarpgroupWait;
  if (reader.has_more() || operands.size() != (waits ? 1U : 0U)) return refuse();
  if (!waits) {
    emit(*action);
    return true;
  }
  if (operands[0].kind != OperandKind::kInteger) return refuse();
  emit_detail(*action).count = operands[0].bits;
  return true;
}

// .m64nNkK.dtype.atype.btype d, a, b, scale-d, negations, transpositions
bool Decoder::decode_warpgroup_product(InstructionReader& reader) {
  const std::string shape(reader.peek());
  if (!reader.take(shape) || shape.substr(0, 4) != "m64n") return refuse();
  const std::size_t k = shape.find('k');
  if (k == std::string::npos) return refuse();
  int depth = 0;
  Detail detail;
  WgmmaShape& product = detail.warpgroup;
  std::from_chars(shape.data() + 4, shape.data() + k, product.columns);
  std::from_chars(shape.data() + k + 1, shape.data() + shape.size(), depth);
  if (!read_factors(reader, &detail) || product.depth() != depth) return refuse();
  const auto& operands = instruction_->operands;
  const bool has_registers = operands.size() > 1 && operands[1].kind == OperandKind::kVector;
  const bool may_transpose = element_bits(product.a) == 16;
  const std::size_t count = may_transpose ? (has_registers ? 7U : 8U) : 6U;
  if (operands.size() != count) return fail("expected " + std::to_string(count) + " operands");
  for (std::size_t i = 4; i < count; ++i) {
    if (operands[i].kind != OperandKind::kInteger) return refuse();
  }
  const auto minus = [&](std::size_t i) {
    return operands[i].bits == 1 ? FactorSign::kPlus : FactorSign::kMinus;
  };
  const auto major = [&](std::size_t i) { return operands[i].bits == 0 ? Major::kK : Major::kMn; };
  product.sign_a = minus(4);
  product.sign_b = minus(5);
  if (may_transpose && !has_registers) detail.major_a = major(6);
  if (may_transpose) detail.major_b = major(count - 1);
  const std::size_t sums = static_cast<std::size_t>(product.d_registers());
  if (operands[0].parts.size() != sums || (has_registers && operands[1].parts.size() != 4)) {
    return fail("expected a vector of " + std::to_string(sums) + ", and of 4 if A is in registers");
  }
  detail.width = 4;
  detail.uses.push_back(predicate(operands[3]));
  for (const Operand& part : operands[0].parts) {
    detail.defs.push_back(result(part, 4));
    detail.uses.push_back(detail.defs.back());
  }
  for (const Operand& part : operands[1].parts) {
    if (has_registers) detail.uses.push_back(source(part, 4, ScalarType::kB32));
  }
  const ValuePlace a = has_registers ? kNoValue : source(operands[1], 8, ScalarType::kB64);
  const ValuePlace b = source(operands[2], 8, ScalarType::kB64);
  if (!status_.is_ok()) return false;
  emit_detail(Action::kWarpgroupProduct) = std::move(detail);
  Step& step = draft_.program.steps.back();
  step.a = a;
  step.b = b;
  step.uses = static_cast<std::uint8_t>(kFieldB | (has_registers ? 0 : kFieldA));
  return true;
}

bool Decoder::read_factors(InstructionReader& reader, Detail* detail) {
  const auto sum = reader.take_one_of<SumType>({{"f32", SumType::kF32}, {"f16", SumType::kF16}});
  const auto take_factor = [&] {
    return reader.take_one_of<FactorType>({{"f16", FactorType::kF16},
                                           {"bf16", FactorType::kBf16},
                                           {"tf32", FactorType::kTf32},
                                           {"e4m3", FactorType::kE4m3},
                                           {"e5m2", FactorType::kE5m2}});
  };
  const auto a = take_factor();
  const auto b = take_factor();
  if (!sum || !a || !b || reader.has_more()) return false;
  detail->warpgroup.sum = *sum;
  detail->warpgroup.a = *a;
  detail->warpgroup.b = *b;
  return is_supported(detail->warpgroup);
}

}  // namespace recto::ptx
