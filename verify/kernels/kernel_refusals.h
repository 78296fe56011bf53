#pragma once

// For tests: valid parameters of kernels, with empty batches so that nothing is launched, and the
// errors that changes to them must cause.

#include <kernel_dialect.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_views.h"
#include "core/dense_kv_view.h"
#include "core/status.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {

// A cache in fp16, head-major, without blocks.
inline MutablePagedKvView empty_cache() {
  return dense_kv_view({.layout = KvLayout::kHeadMajor,
                        .type = ElementType::kFp16,
                        .block_size = 4,
                        .num_kv_heads = 2,
                        .head_dim_k = 16,
                        .head_dim_v = 8},
                       nullptr, nullptr)
      .value();
}

inline RowsView no_rows(std::int64_t head_dim) {
  return dense_rows<const void*>(nullptr, ElementType::kFp16, 0, 2, head_dim);
}

inline MutableRowsView no_results(std::int64_t head_dim) {
  return dense_rows<void*>(nullptr, ElementType::kFp16, 0, 2, head_dim);
}

// One change to supported parameters, and the resulting error.
template <typename Params>
struct Refused {
  std::function<void(Params&)> change;
  std::string error;
};

template <typename Params>
std::string error_of(Status (*launch)(const Params&, KernelStream), const Params& params) {
  simt::Executor executor({});
  simt::Stream stream(executor);
  const Status status = launch(params, &stream);
  CHECK((status.is_ok() || status.code() == StatusCode::kInvalidInput));
  return status.message();
}

template <typename Params>
void expect_refused(Status (*launch)(const Params&, KernelStream), const Params& served,
                    const std::vector<Refused<Params>>& refused) {
  CHECK(error_of(launch, served) == "");
  for (const auto& [change, error] : refused) {
    Params params = served;
    change(params);
    CHECK(error_of(launch, params) == error);
  }
}

template <typename Pointer>
void make_packed(BasicKvTensorView<Pointer>& tensor, std::int64_t pack_width) {
  tensor.layout = KvLayout::kPacked;
  tensor.pack_width = pack_width;
}

inline std::string packs(const char* tensor, std::int64_t pack_width) {
  return std::string(tensor) + ".pack_width: expected a power of two, got " +
         std::to_string(pack_width);
}

}  // namespace recto::verify
