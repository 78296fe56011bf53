#include "experiments/numerics/decode_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "reference/rounding.h"

namespace recto::experiments {
namespace {

// The sum of twelve uniforms of 21 bits each: nearly normal, and the same on every machine.
double normal(RandomStream& stream) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 21) - 1;
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t bits = stream.next_u64();
    sum += (bits & kMask) + ((bits >> 21) & kMask) + (bits >> 43);
  }
  return (static_cast<double>(sum) + 6) * 0x1p-21 - 6;  // each number is the middle of its step
}

double scale_of(ElementType type) { return is_fp8(type) ? kFp8Scale : 1.0; }

// fp8 codes saturate, as in KV writes.
std::uint32_t code_of(double value, ElementType type) {
  if (!is_fp8(type)) return reference::encode(value, type);
  return reference::encode(value / scale_of(type), type, reference::Overflow::kSaturate);
}

void store(double value, ElementType type, std::byte* place) {
  const std::uint32_t code = code_of(value, type);
  std::memcpy(place, &code, static_cast<std::size_t>(element_bytes(type)));
}

// One sequence with one query row, whose context is in one block.
BatchLists lists_of(std::int64_t context_length) {
  const BatchSequence sequence = {.context_length = context_length, .blocks = {0}};
  return BatchLists({&sequence, 1});
}

}  // namespace

std::string StudyTypes::name() const {
  if (q == kv) return element_type_name(q);
  return std::string(element_type_name(q)) + "/" + element_type_name(kv);
}

StoredRows::StoredRows(ElementType stored_type, std::int64_t rows, RandomStream stream)
    : type(stored_type),
      values(rows, kHeadDim),
      codes(static_cast<std::size_t>(rows * kHeadDim * element_bytes(type))) {
  for (auto place = codes.begin(); place != codes.end(); place += element_bytes(type)) {
    store(normal(stream), type, &*place);
  }
  reference::decode_row(codes.data(), type,
                        {values.data(), static_cast<std::size_t>(values.size())});
  values *= scale_of(type);
}

void StoredRows::set_last(const Eigen::RowVectorXd& row) {
  std::byte* place = &*(codes.end() - kHeadDim * element_bytes(type));
  for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
    store(row[dim], type, place);
    values(values.rows() - 1, dim) =
        scale_of(type) * reference::decode(code_of(row[dim], type), type);
    place += element_bytes(type);
  }
}

DecodeProblem::DecodeProblem(const StudyTypes& types, std::int64_t num_keys, RandomStream stream)
    : types_(types),
      scale_(1.0F / std::sqrt(static_cast<float>(kHeadDim))),
      q_(types.q, 1, stream.split("q")),
      k_(types.kv, num_keys, stream.split("k")),
      v_(types.kv, num_keys, stream.split("v")),
      swapped_v_(v_.codes),
      drawn_last_key_(k_.values.bottomRows(1)),
      lists_(lists_of(num_keys)),
      shortened_lists_(lists_of(num_keys - 1)) {
  RECTO_CHECK_GE(num_keys, 2);
  donor_ = static_cast<std::int64_t>(
      stream.split("donor").next_below(static_cast<std::uint64_t>(num_keys - 1)));
  const std::int64_t row_bytes = kHeadDim * element_bytes(types.kv);
  std::copy_n(v_.codes.begin() + donor_ * row_bytes, row_bytes, swapped_v_.end() - row_bytes);
}

reference::HeadOptions DecodeProblem::head_options() const { return {.scale = scale_}; }

DecodeProblem::Scores DecodeProblem::scores() const {
  const std::int64_t others = num_keys() - 1;
  const reference::Vector all = reference::score_keys(q().row(0), k(), head_options(), -others);
  const double largest = all.head(others).maxCoeff();
  return {largest + std::log((all.head(others).array() - largest).exp().sum()), all[others]};
}

void DecodeProblem::plant_last_key(double weight) {
  RECTO_CHECK_GT(weight, 0.0);
  RECTO_CHECK_LT(weight, 1.0);
  const double score = std::log(weight) - std::log1p(-weight) + scores().others_lse_ln;
  k_.set_last(q().row(0) * (score / (scale_ * q().row(0).squaredNorm())));
}

void DecodeProblem::restore_last_key() { k_.set_last(drawn_last_key_); }

double DecodeProblem::last_weight() const {
  const Scores found = scores();
  return 1 / (1 + std::exp(found.others_lse_ln - found.last));
}

KvTensorView DecodeProblem::tensor(const std::vector<std::byte>& memory) const {
  const KvPoolShape shape = {.type = types_.kv,
                             .num_blocks = 1,
                             .block_size = num_keys(),
                             .num_kv_heads = 1,
                             .head_dim_k = kHeadDim,
                             .head_dim_v = kHeadDim};
  const MutableKvTensorView layout = dense_kv_view(shape, nullptr, nullptr).value().k;
  KvTensorView view = view_over<const void*>(layout, memory.data());
  if (is_fp8(types_.kv)) view.scale = {.kind = ScaleKind::kPerTensor, .data = &kFp8Scale};
  return view;
}

PagedAttentionInputs DecodeProblem::inputs() const {
  PagedAttentionInputs inputs;
  inputs.q = dense_rows<const void*>(q_.codes.data(), types_.q, 1, 1, kHeadDim);
  inputs.kv = {tensor(k_.codes), tensor(v_.codes)};
  inputs.block_table = lists_.table();
  inputs.query_start = lists_.query_start;
  inputs.context_length = lists_.context_length;
  inputs.options.scale = scale_;
  return inputs;
}

PagedAttentionInputs DecodeProblem::without_last_key() const {
  PagedAttentionInputs wrong = inputs();
  wrong.context_length = shortened_lists_.context_length;
  return wrong;
}

PagedAttentionInputs DecodeProblem::with_swapped_value() const {
  PagedAttentionInputs wrong = inputs();
  wrong.kv.v = tensor(swapped_v_);
  return wrong;
}

PagedAttentionInputs DecodeProblem::with_scale_error(double error) const {
  PagedAttentionInputs wrong = inputs();
  wrong.options.scale = static_cast<float>(scale_ * (1 + error));
  return wrong;
}

}  // namespace recto::experiments
