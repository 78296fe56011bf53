// A complete program around the host API and the block manager, to start from: a small paged cache,
// and two sequences that grow by one token per step. In each step the manager makes room, the block
// table on the device gets the new blocks, and a launch appends the new K and V and attends to all
// tokens so far.
//
// Exit codes: 0 done, 1 CUDA or recto refused something, 3 no GPU.

#include <cuda_runtime.h>
#include <kernel_dialect.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/dense_kv_view.h"
#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/block_manager.h"
#include "cuda/decode_step.h"

namespace {

using recto::Result;
using recto::RowsView;
using recto::Status;
using recto::cache::BatchTables;
using recto::cache::BlockManager;
using recto::cache::SequenceHandle;

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kNoGpu = 3;

constexpr std::int64_t kSeqs = 2;
constexpr std::int64_t kQHeads = 4;
constexpr std::int64_t kKvHeads = 2;  // each is shared by a group of two query heads
constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kMaxBlocks = 3;  // of each sequence
constexpr std::int64_t kNumBlocks = kSeqs * kMaxBlocks;
constexpr std::int64_t kTokens = 40;  // generated tokens: two and a half blocks

constexpr std::int64_t kQSize = kSeqs * kQHeads * kHeadDim;
constexpr std::int64_t kKvSize = kSeqs * kKvHeads * kHeadDim;
constexpr std::int64_t kPoolSize = kNumBlocks * kBlockSize * kKvHeads * kHeadDim;

Status status_of(cudaError_t error) {
  return error == cudaSuccess ? Status::ok() : Status::failed(cudaGetErrorString(error));
}

// Device memory, initialised to zeros.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    error_ = cudaMalloc(&data_, bytes_);
    if (error_ == cudaSuccess) error_ = cudaMemset(data_, 0, bytes_);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  Status status() const { return status_of(error_); }

  // Copies in stream order; `host` has as many elements as this array.
  Status upload(const T* host, cudaStream_t stream) {
    return status_of(cudaMemcpyAsync(data_, host, bytes_, cudaMemcpyHostToDevice, stream));
  }
  Status download(T* host, cudaStream_t stream) const {
    return status_of(cudaMemcpyAsync(host, data_, bytes_, cudaMemcpyDeviceToHost, stream));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
  cudaError_t error_;
};

// One row per sequence: [kSeqs, heads, kHeadDim], contiguous.
template <typename Pointer>
recto::BasicRowsView<Pointer> rows(Pointer data, std::int64_t heads) {
  return recto::dense_rows(data, recto::ElementType::kFp32, kSeqs, heads, kHeadDim);
}

// The memory of a step. Keys and queries stay 0 here, so that all tokens have equal weight.
struct Batch {
  DeviceArray<float> q{kQSize};
  DeviceArray<float> new_k{kKvSize};
  DeviceArray<float> new_v{kKvSize};
  DeviceArray<float> k_pool{kPoolSize};
  DeviceArray<float> v_pool{kPoolSize};
  DeviceArray<std::int32_t> block_table{kSeqs * kMaxBlocks};  // a copy of the host's
  DeviceArray<std::int32_t> cached_length{kSeqs};
  DeviceArray<float> out{kQSize};
  DeviceArray<float> lse_ln{kSeqs * kQHeads};

  Status status() const {
    for (const auto* array : {&q, &new_k, &new_v, &k_pool, &v_pool, &out, &lse_ln}) {
      RECTO_RETURN_IF_ERROR(array->status());
    }
    RECTO_RETURN_IF_ERROR(block_table.status());
    return cached_length.status();
  }
};

// Views only describe memory; they own none, and serve every step.
Result<recto::DecodeStep> step_of(const Batch& batch, const BatchTables& tables) {
  const recto::KvPoolShape shape = {.layout = recto::KvLayout::kHeadMajor,
                                    .num_blocks = kNumBlocks,
                                    .block_size = kBlockSize,
                                    .num_kv_heads = kKvHeads,
                                    .head_dim_k = kHeadDim,
                                    .head_dim_v = kHeadDim};
  const Result<recto::MutablePagedKvView> kv =
      recto::dense_kv_view(shape, batch.k_pool.data(), batch.v_pool.data());
  RECTO_RETURN_IF_ERROR(kv.status());
  recto::DecodeStep step = {
      .q = rows<const void*>(batch.q.data(), kQHeads),
      .new_k = rows<const void*>(batch.new_k.data(), kKvHeads),
      .new_v = rows<const void*>(batch.new_v.data(), kKvHeads),
      .kv = kv.value(),
      .block_table = tables.view(0),
      .cached_length = {batch.cached_length.data(), static_cast<std::size_t>(kSeqs)}};
  step.block_table.data = batch.block_table.data();
  step.options.scale = 0.125F;  // 1 / sqrt(head_dim)
  return step;
}

Result<BlockManager> make_manager() {
  recto::cache::CacheOptions options;
  options.num_blocks = recto::BlockCount(kNumBlocks);
  options.block_size = recto::TokenCount(kBlockSize);
  options.max_blocks_per_sequence = recto::BlockCount(kMaxBlocks);
  options.prefix.caching = recto::cache::PrefixCaching::kOff;
  return BlockManager::create(options);
}

// Starts the sequences, each with a prompt of one token, and gives row s of the tables to number s.
Result<std::vector<SequenceHandle>> admit(BlockManager& manager, BatchTables& tables) {
  std::vector<SequenceHandle> sequences;
  for (std::int32_t s = 0; s < kSeqs; ++s) {
    const std::array<recto::cache::TokenId, 1> prompt = {s};
    const Result<recto::cache::Admission> admitted = manager.admit({.tokens = {.ids = prompt}});
    RECTO_RETURN_IF_ERROR(admitted.status());
    sequences.push_back(admitted.value().sequence);
    RECTO_RETURN_IF_ERROR(tables.assign(s, sequences.back()));
  }
  return sequences;
}

// Makes room for the next token of each sequence, and uploads the table if that changed it; from a
// larger table only the ranges that `update` returns. These sequences share no blocks, so `append`
// asks for no copies. When it runs out of blocks, a serving engine preempts (engine.cc).
Status grow(BlockManager& manager, const std::vector<SequenceHandle>& sequences,
            BatchTables& tables, Batch& batch, cudaStream_t stream) {
  RECTO_RETURN_IF_ERROR(manager.append(sequences).status());
  if (tables.update().empty()) return Status::ok();
  return batch.block_table.upload(tables.view(0).data, stream);
}

// Token number t of sequence 0 has the value t + 1 in every dim, that of sequence 1 its negative.
Status upload_token(Batch& batch, std::int32_t token, cudaStream_t stream) {
  std::array<float, kKvSize> values;
  for (std::int64_t i = 0; i < kKvSize; ++i) {
    const auto value = static_cast<float>(token + 1);
    values[static_cast<std::size_t>(i)] = i < kKvSize / kSeqs ? value : -value;
  }
  const std::array<std::int32_t, kSeqs> cached = {token, token};
  RECTO_RETURN_IF_ERROR(batch.new_v.upload(values.data(), stream));
  return batch.cached_length.upload(cached.data(), stream);
}

Status generate(cudaStream_t stream) {
  Batch batch;
  RECTO_RETURN_IF_ERROR(batch.status());
  Result<BlockManager> manager = make_manager();
  RECTO_RETURN_IF_ERROR(manager.status());
  std::vector<std::int32_t> host_table(kSeqs * kMaxBlocks);
  Result<BatchTables> tables =
      BatchTables::create(manager.value(), {.max_rows = kSeqs}, host_table);
  RECTO_RETURN_IF_ERROR(tables.status());
  const Result<std::vector<SequenceHandle>> sequences = admit(manager.value(), tables.value());
  RECTO_RETURN_IF_ERROR(sequences.status());

  // Plans once, before the first step: kernel, number of splits, workspace.
  const Result<recto::DecodeStep> step = step_of(batch, tables.value());
  RECTO_RETURN_IF_ERROR(step.status());
  const Result<recto::AttentionPlan> plan =
      recto::plan_decode_step(step.value(), {.max_context_length = kTokens});
  RECTO_RETURN_IF_ERROR(plan.status());
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes);
  RECTO_RETURN_IF_ERROR(workspace.status());
  const recto::AttentionOutputs outputs = {
      .out = rows<void*>(batch.out.data(), kQHeads),
      .lse_ln = {batch.lse_ln.data(), static_cast<std::size_t>(kSeqs * kQHeads)}};
  std::printf(
      "%s, splits: %d, workspace: %d bytes\n", recto::attention_kernel_name(plan.value().kernel),
      static_cast<int>(plan.value().num_splits), static_cast<int>(plan.value().workspace_bytes));

  // A launch reads nothing on the host but views. Uploads from pageable memory have been read when
  // they return.
  for (std::int32_t token = 0; token < kTokens; ++token) {
    RECTO_RETURN_IF_ERROR(grow(manager.value(), sequences.value(), tables.value(), batch, stream));
    RECTO_RETURN_IF_ERROR(upload_token(batch, token, stream));
    RECTO_RETURN_IF_ERROR(recto::run_decode_step(plan.value(), step.value(), outputs,
                                                 {workspace.data(), plan.value().workspace_bytes},
                                                 stream));
  }

  std::array<float, kQSize> out;
  std::array<float, kSeqs * kQHeads> lse_ln;
  RECTO_RETURN_IF_ERROR(batch.out.download(out.data(), stream));
  RECTO_RETURN_IF_ERROR(batch.lse_ln.download(lse_ln.data(), stream));
  RECTO_RETURN_IF_ERROR(status_of(cudaStreamSynchronize(stream)));
  for (std::size_t s = 0; s < kSeqs; ++s) {
    // The mean of the appended values, and the logarithm of their number.
    std::printf("sequence %d after %d tokens: out %.4f, lse_ln %.4f\n", static_cast<int>(s),
                static_cast<int>(kTokens), out[s * kQHeads * kHeadDim], lse_ln[s * kQHeads]);
  }
  return Status::ok();
}

Status run() {
  cudaStream_t stream = nullptr;
  RECTO_RETURN_IF_ERROR(status_of(cudaStreamCreate(&stream)));
  RECTO_RETURN_IF_ERROR(generate(stream));
  return status_of(cudaStreamDestroy(stream));
}

}  // namespace

int main() {
  int num_devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&num_devices);
  if (found != cudaSuccess || num_devices == 0) {
    std::printf("no GPU: %s\n", found == cudaSuccess ? "no device" : cudaGetErrorString(found));
    return kNoGpu;
  }
  const Status status = run();
  if (status.is_ok()) return kDone;
  std::fprintf(stderr, "decode_program: %s\n", status.message().c_str());
  return kFailed;
}
