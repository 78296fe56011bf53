#pragma once

// A case as arrays with names, for programs in any language: what goes in, and what must come out.
// docs/python.md has every name, its shape and its type.

#include <array>
#include <cstdint>
#include <vector>

#include "verify/generators/case_spec.h"
#include "verify/npz/npz_archive.h"

namespace recto::verify {

// What a program is asked to do.
enum class CaseOperation : std::uint8_t {
  kDecode,   // attention, one query row a sequence
  kPrefill,  // attention, any number of rows
  kKvWrite,
};

inline constexpr std::array<CaseOperation, 3> kCaseOperations = {
    CaseOperation::kDecode, CaseOperation::kPrefill, CaseOperation::kKvWrite};

constexpr const char* case_operation_name(CaseOperation operation) {
  constexpr const char* kNames[] = {"decode", "prefill", "kv_write"};
  return kNames[static_cast<int>(operation)];
}

// Whether there is anything in it that could be wrong: a row, or a token to be written.
bool has_results(CaseOperation operation, const CaseSpec& spec);

struct CaseArrays {
  std::vector<NpzMember> inputs = {};  // no bit of them depends on the machine
  // In fp64, with the sharp bound of each element by the numerics of nobody in particular; of pools
  // their codes.
  std::vector<NpzMember> expected = {};
};

// Of a case without gaps in its pools and between its rows.
CaseArrays case_arrays(CaseOperation operation, const CaseSpec& spec);

// Codes of these as NumPy has them: bf16 as uint16, fp8 as uint8.
NpyType npy_type_of(ElementType type);

// The shape of a pool without gaps, as its layout has it; packed: one more for K.
std::vector<std::int64_t> pool_shape(const KvTensorView& cache);

}  // namespace recto::verify
