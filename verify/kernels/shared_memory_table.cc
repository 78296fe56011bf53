// Prints the shared memory that kernels request at launch, which ptxas does not report: one line
// per instantiated kernel. (cuda/golden/dynamic_shared.txt is the reviewed output.)

#include <kernel_dialect.h>

#include <fmt/format.h>

#include "core/element_type.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/tma_decode.h"

namespace recto::verify {
namespace {

template <typename Params>
void print(const char* kernel, const kernels::KernelTable<Params>& table) {
  for (const kernels::KernelEntry<Params>& entry : table) {
    fmt::print("{:>13}  {:>4}  {:>5}  {:>8}  {}\n", entry.shared_bytes,
               element_type_name(entry.q_type), element_type_name(entry.kv_type), entry.head_dim,
               kernel);
  }
}

}  // namespace
}  // namespace recto::verify

int main() {
  using namespace recto;
  fmt::print("# dynamic shared memory of a thread block, bytes\n");
  fmt::print("{:>13}  {:>4}  {:>5}  {:>8}  {}\n", "shared bytes", "q", "cache", "head dim",
             "kernel");
  verify::print("gqa_decode", kernels::gqa_decode_table());
  verify::print("tma_decode", kernels::tma_decode_table());
  verify::print("paged_prefill", kernels::paged_prefill_table());
  verify::print("paged_prefill_wide", kernels::wide_prefill_table());
  return 0;
}
