// Matrices of a warp, and products of warpgroups.

#include <charconv>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

std::optional<SumType> take_sum(Decoding& at) {
  return at.take_one_of<SumType>(
      {{"f32", SumType::kF32}, {"f16", SumType::kF16}, {"s32", SumType::kS32}});
}

std::optional<FactorType> take_factor(Decoding& at) {
  return at.take_one_of<FactorType>({{"f16", FactorType::kF16},
                                     {"bf16", FactorType::kBf16},
                                     {"tf32", FactorType::kTf32},
                                     {"e4m3", FactorType::kE4m3},
                                     {"e5m2", FactorType::kE5m2},
                                     {"s8", FactorType::kS8},
                                     {"u8", FactorType::kU8}});
}

// The registers of a matrix, one or a vector, of which there must be `count`.
std::vector<Operand> registers_of(Decoding& at, std::size_t index, std::size_t count) {
  const Operand& operand = at.operands()[index];
  std::vector<Operand> parts = operand.parts;
  if (operand.kind != OperandKind::kVector) parts = {operand};
  if (parts.size() != count) {
    at.fail("operand " + std::to_string(index + 1) + ": expected a vector of " +
            std::to_string(count));
  }
  return parts;
}

// .m64nNkK: columns and depth.
bool take_warpgroup_shape(Decoding& at, WgmmaShape* shape, int* depth) {
  const std::string_view text = at.peek();
  const std::size_t k = text.find('k');
  if (text.substr(0, 4) != "m64n" || k == std::string_view::npos) return false;
  std::from_chars(text.data() + 4, text.data() + k, shape->columns);
  std::from_chars(text.data() + k + 1, text.data() + text.size(), *depth);
  return at.take(text);
}

// .m64nNkK.dtype.atype.btype d, a, b, scale-d, negations, transpositions
void decode_warpgroup_product(Decoding& at) {
  Detail detail;
  WgmmaShape& product = detail.warpgroup;
  int depth = 0;
  if (!take_warpgroup_shape(at, &product, &depth)) return at.refuse();
  const auto sum = take_sum(at);
  const auto a = take_factor(at);
  const auto b = take_factor(at);
  if (!sum || !a || !b || at.has_more()) return at.refuse();
  product.sum = *sum;
  product.a = *a;
  product.b = *b;
  if (!is_supported(product) || product.depth() != depth) return at.refuse();
  const std::vector<Operand>& operands = at.operands();
  const bool has_registers = operands.size() > 1 && operands[1].kind == OperandKind::kVector;
  const bool may_transpose = element_bits(product.a) == 16;
  const std::size_t count = may_transpose ? (has_registers ? 7U : 8U) : 6U;
  if (!at.has_operands(count)) return;
  for (std::size_t i = 4; i < count; ++i) {
    const auto value = static_cast<std::int32_t>(operands[i].bits);
    const bool is_known = value == 1 || value == (i < 6 ? -1 : 0);
    if (operands[i].kind != OperandKind::kInteger || !is_known) return at.refuse();
  }
  const auto sign = [&](std::size_t i) {
    return operands[i].bits == 1 ? FactorSign::kPlus : FactorSign::kMinus;
  };
  const auto major = [&](std::size_t i) { return operands[i].bits == 0 ? Major::kK : Major::kMn; };
  product.sign_a = sign(4);
  product.sign_b = sign(5);
  if (may_transpose && !has_registers) detail.major_a = major(6);
  if (may_transpose) detail.major_b = major(count - 1);
  detail.width = 4;
  detail.uses.push_back(at.predicate(operands[3]));
  const auto sums = static_cast<std::size_t>(product.d_registers());
  for (const Operand& part : registers_of(at, 0, sums)) {
    detail.defs.push_back(at.result(part, 4));
    detail.uses.push_back(detail.defs.back());
  }
  Fields fields;
  if (has_registers) {
    for (const Operand& part : registers_of(at, 1, 4)) detail.uses.push_back(at.source32(part));
  } else {
    fields.a = at.source(operands[1], 8, ScalarType::kB64);
  }
  fields.b = at.source(operands[2], 8, ScalarType::kB64);
  at.emit(Action::kWarpgroupProduct, std::move(detail), fields);
}

}  // namespace

// ldmatrix.sync.aligned.m8n8.{x1, x2, x4}[.trans].shared.b16 and stmatrix. ptxas takes shape, count
// and .trans in any order: FlashInfer has .trans.m8n8.x4, CUTLASS .x4.m8n8.
void decode_matrix_move(Decoding& at) {
  const bool is_load = at.opcode() == "ldmatrix";
  if (!at.take("sync") || !at.take("aligned")) return at.refuse();
  Detail detail;
  std::optional<unsigned> count;
  bool has_shape = false;
  for (int i = 0; i < 3; ++i) {
    if (!has_shape) has_shape = at.take("m8n8");
    if (!count) count = at.take_one_of<unsigned>({{"x1", 1}, {"x2", 2}, {"x4", 4}});
    if (!detail.is_transposed) detail.is_transposed = at.take("trans");
  }
  const MemorySpace space = at.take_space().value_or(MemorySpace::kGeneric);
  const bool is_b16 = at.take("b16");
  if (!has_shape || !count || !is_b16 || at.has_more() || at.operands().size() != 2)
    return at.refuse();
  detail.count = *count;
  detail.width = 4;
  detail.element_bytes = 16;
  detail.memory = at.memory(at.operands()[is_load ? 1 : 0], space);
  for (const Operand& part : registers_of(at, is_load ? 0 : 1, *count)) {
    if (is_load) {
      detail.defs.push_back(at.result(part, 4));
    } else {
      detail.uses.push_back(at.source32(part));
    }
  }
  at.emit(is_load ? Action::kLoadMatrix : Action::kStoreMatrix, std::move(detail));
}

// mma.sync.aligned.mMnNkK.row.col[.satfinite].dtype.atype.btype.ctype d, a, b, c
void decode_matrix_product(Decoding& at) {
  if (!at.take("sync") || !at.take("aligned")) return at.refuse();
  Detail detail;
  MmaShape& shape = detail.product;
  const auto depth =
      at.take_one_of<int>({{"m16n8k4", 4}, {"m16n8k8", 8}, {"m16n8k16", 16}, {"m16n8k32", 32}});
  if (!depth || !at.take("row") || !at.take("col")) return at.refuse();
  at.skip({"kind::f8f6f4"});
  shape.depth = *depth;
  shape.satfinite = at.take("satfinite");
  const auto d = take_sum(at);
  const auto a = take_factor(at);
  const auto b = take_factor(at);
  const auto c = take_sum(at);
  if (!d || !a || !b || !c || *d != *c || at.has_more()) return at.refuse();
  shape.a = *a;
  shape.b = *b;
  shape.sum = *d;
  if (!is_supported(shape)) return at.refuse();
  if (!at.has_operands(4)) return;
  detail.width = 4;
  const int sizes[] = {shape.c_registers(), shape.a_registers(), shape.b_registers(),
                       shape.c_registers()};
  const ScalarType sum_type = shape.sum == SumType::kF32 ? ScalarType::kF32 : ScalarType::kB32;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const Operand& part : registers_of(at, i, static_cast<std::size_t>(sizes[i]))) {
      if (i == 0) {
        detail.defs.push_back(at.result(part, 4));
      } else {
        detail.uses.push_back(at.source(part, 4, i == 3 ? sum_type : ScalarType::kB32));
      }
    }
  }
  at.emit(Action::kMatrixProduct, std::move(detail));
}

// wgmma.{fence, commit_group, wait_group, mma_async}.sync.aligned
void decode_warpgroup(Decoding& at) {
  const auto action = at.take_one_of<Action>({{"fence", Action::kWarpgroupFence},
                                              {"commit_group", Action::kWarpgroupCommit},
                                              {"wait_group", Action::kWarpgroupWait},
                                              {"mma_async", Action::kWarpgroupProduct}});
  if (!action || !at.take("sync") || !at.take("aligned")) return at.refuse();
  if (*action == Action::kWarpgroupProduct) return decode_warpgroup_product(at);
  const bool waits = *action == Action::kWarpgroupWait;
  if (at.has_more() || at.operands().size() != (waits ? 1U : 0U)) return at.refuse();
  if (!waits) {
    at.emit(*action);
    return;
  }
  if (at.operands()[0].kind != OperandKind::kInteger) return at.refuse();
  Detail detail;
  detail.count = at.operands()[0].bits;
  at.emit(*action, std::move(detail));
}

}  // namespace recto::ptx
