#pragma once

// Attention kernels of this project as nvcc compiles them to PTX, with drawn inputs.

#include <cstdint>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/ptx/launch.h"

namespace recto::ptx {

enum class OwnKernel : std::uint8_t {
  kPagedDecode,
  kSplitDecode,
  kGqaDecode,  // in whole tiles
  kPrefill,
  kWidePrefill,
};

// A call's sizes. Contexts are a little shorter than `context_length`, each in its own way.
struct OwnSizes {
  int sequences = 2;
  int context_length = 100;
  int query_length = 1;  // of prefill
  int q_heads = 4;
  int kv_heads = 2;
  int head_dim = 64;
  int block_size = 16;
};

class OwnCall {
 public:
  // Failed: the file with the PTX does not exist, as where there was no nvcc; or it cannot be run.
  static Result<OwnCall> prepare(OwnKernel kernel, const std::string& arch, const OwnSizes& sizes);

  // Runs the kernel, or the kernels one after another, up to the first finding.
  LaunchReport run(const LaunchOptions& options);
  // One entry of the block table points behind the pool.
  void break_block_table() { table_[1] = static_cast<std::int32_t>(table_.size()); }
  // The largest distance of an output from that of a plain loop in fp64. O(q x context x head_dim).
  double worst_error() const;
  // Query heads x tokens of their contexts.
  double work() const;

 private:
  OwnCall() = default;

  void draw();
  LaunchReport run_decode(const LaunchOptions& options);
  LaunchReport run_prefill(const LaunchOptions& options);
  float element(const std::vector<std::byte>& memory, std::size_t index) const;
  std::size_t slot_of(int sequence, int token) const;  // an index of elements, head 0
  int context_of(int sequence) const { return context_length_[static_cast<unsigned>(sequence)]; }

  OwnKernel which_ = OwnKernel::kPagedDecode;
  OwnSizes sizes_;
  ElementType type_ = ElementType::kFp32;
  std::vector<Module> modules_;
  std::vector<Kernel> kernels_;
  int blocks_ = 0;
  std::vector<std::byte> q_;
  std::vector<std::byte> k_;
  std::vector<std::byte> v_;
  std::vector<std::byte> out_;
  std::vector<float> lse_ln_;
  std::vector<std::int32_t> table_;
  std::vector<std::int32_t> context_length_;
  std::vector<std::int32_t> query_start_;
};

}  // namespace recto::ptx
