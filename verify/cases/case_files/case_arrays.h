#pragma once

// A case as named arrays, for programs in any language: the inputs and the expected results.
// docs/python.md lists every name with its shape and type.

#include <array>
#include <cstdint>
#include <vector>

#include "verify/cases/case_spec.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::verify {

// The operation that a program is to run on the case.
enum class CaseOperation : std::uint8_t {
  kDecode,   // attention, one query row per sequence
  kPrefill,  // attention, any number of rows
  kKvWrite,
};

inline constexpr std::array<CaseOperation, 3> kCaseOperations = {
    CaseOperation::kDecode, CaseOperation::kPrefill, CaseOperation::kKvWrite};

constexpr const char* case_operation_name(CaseOperation operation) {
  constexpr const char* kNames[] = {"decode", "prefill", "kv_write"};
  return kNames[static_cast<int>(operation)];
}

// Whether the case has any result that could be wrong: a row, or a token to be written.
bool has_results(CaseOperation operation, const CaseSpec& spec);

struct CaseArrays {
  std::vector<NpzMember> inputs = {};  // the same bits on every machine
  // In fp64, with each element's probabilistic bound by reference::third_party_numerics; pools as
  // their codes.
  std::vector<NpzMember> expected = {};
};

// The case must have no gaps in its pools or between its rows.
CaseArrays case_arrays(CaseOperation operation, const CaseSpec& spec);

// The NumPy type for codes of `type`: uint16 for bf16, uint8 for fp8.
NpyType npy_type_of(ElementType type);

// The shape of a pool without gaps, in its layout; the packed layout has one more dimension for K.
std::vector<std::int64_t> pool_shape(const KvTensorView& cache);

}  // namespace recto::verify
