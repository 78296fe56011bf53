// Matrices of a warp.

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

// ldmatrix.sync.aligned.m8n8.{x1, x2, x4}[.trans].shared.b16 and stmatrix.
bool Decoder::decode_matrix_move() {
  InstructionReader reader(*instruction_);
  const bool is_load = instruction_->opcode == "ldmatrix";
  if (!reader.take("sync") || !reader.take("aligned") || !reader.take("m8n8")) return refuse();
  const auto count = reader.take_one_of<unsigned>({{"x1", 1}, {"x2", 2}, {"x4", 4}});
  Detail detail;
  detail.is_transposed = reader.take("trans");
  const MemorySpace space = reader.take_space().value_or(MemorySpace::kGeneric);
  const bool is_b16 = reader.take("b16");
  const auto& operands = instruction_->operands;
  if (!count || !is_b16 || reader.has_more() || operands.size() != 2) return refuse();
  detail.count = *count;
  detail.width = 4;
  detail.element_bytes = 16;
  if (!read_memory_operand(operands[is_load ? 1 : 0], space, &detail.memory)) return false;
  const Operand& data = operands[is_load ? 0 : 1];
  std::vector<Operand> parts = data.parts;
  if (data.kind != OperandKind::kVector) parts = {data};
  if (parts.size() != *count) return fail("expected a vector of " + std::to_string(*count));
  for (const Operand& part : parts) {
    if (is_load) {
      detail.defs.push_back(result(part, 4));
    } else {
      detail.uses.push_back(source(part, 4, ScalarType::kB32));
    }
  }
  if (!status_.is_ok()) return false;
  emit_detail(is_load ? Action::kLoadMatrix : Action::kStoreMatrix) = std::move(detail);
  return true;
}

// mma.sync.aligned.mMnNkK.row.col[.satfinite].dtype.atype.btype.ctype d, a, b, c
bool Decoder::decode_matrix_product() {
  InstructionReader reader(*instruction_);
  if (!reader.take("sync") || !reader.take("aligned")) return refuse();
  Detail detail;
  MmaShape& shape = detail.product;
  const auto depth =
      reader.take_one_of<int>({{"m16n8k4", 4}, {"m16n8k8", 8}, {"m16n8k16", 16}, {"m16n8k32", 32}});
  if (!depth || !reader.take("row") || !reader.take("col")) return refuse();
  reader.skip({"kind::f8f6f4"});
  shape.depth = *depth;
  shape.satfinite = reader.take("satfinite");
  const auto take_sum = [&] {
    return reader.take_one_of<SumType>(
        {{"f32", SumType::kF32}, {"f16", SumType::kF16}, {"s32", SumType::kS32}});
  };
  const auto take_factor = [&] {
    return reader.take_one_of<FactorType>({{"f16", FactorType::kF16},
                                           {"bf16", FactorType::kBf16},
                                           {"tf32", FactorType::kTf32},
                                           {"e4m3", FactorType::kE4m3},
                                           {"e5m2", FactorType::kE5m2},
                                           {"s8", FactorType::kS8},
                                           {"u8", FactorType::kU8}});
  };
  const auto d = take_sum();
  const auto a = take_factor();
  const auto b = take_factor();
  const auto c = take_sum();
  if (!d || !a || !b || !c || *d != *c || reader.has_more()) return refuse();
  shape.a = *a;
  shape.b = *b;
  shape.sum = *d;
  if (!is_supported(shape)) return refuse();
  detail.width = 4;
  const int sizes[] = {shape.c_registers(), shape.a_registers(), shape.b_registers(),
                       shape.c_registers()};
  const auto& operands = instruction_->operands;
  if (operands.size() != 4) return fail("expected 4 operands");
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<Operand> parts = operands[i].parts;
    if (operands[i].kind != OperandKind::kVector) parts = {operands[i]};
    if (static_cast<int>(parts.size()) != sizes[i]) {
      return fail("operand " + std::to_string(i + 1) + ": expected a vector of " +
                  std::to_string(sizes[i]));
    }
    for (const Operand& part : parts) {
      if (i == 0) {
        detail.defs.push_back(result(part, 4));
      } else {
        detail.uses.push_back(source(
            part, 4, i == 3 && shape.sum == SumType::kF32 ? ScalarType::kF32 : ScalarType::kB32));
      }
    }
  }
  if (!status_.is_ok()) return false;
  emit_detail(Action::kMatrixProduct) = std::move(detail);
  return true;
}

}  // namespace recto::ptx
