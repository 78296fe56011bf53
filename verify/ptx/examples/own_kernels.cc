#include "verify/ptx/examples/own_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/random_stream.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/split_decode.h"

namespace recto::ptx {
namespace {

constexpr std::int64_t kSplitKeys = 64;
// Shared memory for any shape of the kernels.
constexpr std::size_t kSharedBytes = 160 << 10;

struct KernelFile {
  const char* file;
  std::vector<std::string> parts;  // of the kernels' mangled names
};

KernelFile file_of(OwnKernel kernel) {
  switch (kernel) {
    case OwnKernel::kPagedDecode:
      return {"reference_decode", {"16reference_decodeINS0_5PacksEff"}};
    case OwnKernel::kSplitDecode:
      return {"split_decode", {"12split_decodeINS0_5PacksEff", "11split_merge"}};
    case OwnKernel::kGqaDecode:
      return {"gqa_decode_bf16",
              {"10gqa_decodeINS0_10GroupShapeINS0_7NumbersINS0_18TensorCoreProducts"
               "I13__nv_bfloat16EES5_LNS0_8TransferE2EEELi64E"}};
    case OwnKernel::kPrefill:
      return {"paged_prefill_bf16",
              {"13paged_prefillINS0_12PrefillShapeINS0_18TensorCoreProducts"
               "I13__nv_bfloat16EES4_Li64E"}};
    case OwnKernel::kWidePrefill:
      return {"paged_prefill_bf16", {"18paged_prefill_wideINS0_9WideShapeI13__nv_bfloat16Li64E"}};
  }
  return {};
}

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::failed(path + " does not exist");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint16_t bf16_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void add(DeviceMemory& memory, const char* name, const auto& data, BufferAccess access) {
  memory.add(name, data.data(), data.size() * sizeof(data[0]), access);
}

}  // namespace

Result<OwnCall> OwnCall::prepare(OwnKernel kernel, const std::string& arch, const OwnSizes& sizes) {
  OwnCall call;
  call.which_ = kernel;
  call.sizes_ = sizes;
  const bool is_plain = kernel == OwnKernel::kPagedDecode || kernel == OwnKernel::kSplitDecode;
  call.type_ = is_plain ? ElementType::kFp32 : ElementType::kBf16;
  const KernelFile wanted = file_of(kernel);
  const Result<std::string> text =
      text_of("verify/ptx/examples/own_ptx_" + arch + "/" + wanted.file + ".ptx");
  if (!text.is_ok()) return text.status();
  Result<Module> module = Module::parse(text.value());
  if (!module.is_ok()) return module.status().in(wanted.file);
  call.modules_.push_back(std::move(module).value());
  const std::vector<std::string> names = call.modules_[0].kernel_names();
  for (const std::string& part : wanted.parts) {
    const auto name = std::find_if(names.begin(), names.end(), [&](const std::string& each) {
      return each.find(part) != std::string::npos;
    });
    if (name == names.end()) return Status::failed("no kernel's name has '" + part + "'");
    Result<Kernel> decoded = call.modules_[0].kernel(*name);
    if (!decoded.is_ok()) return decoded.status();
    call.kernels_.push_back(std::move(decoded).value());
  }
  call.draw();
  return call;
}

void OwnCall::draw() {
  const auto sequences = static_cast<std::size_t>(sizes_.sequences);
  blocks_ = (sizes_.context_length + sizes_.block_size - 1) / sizes_.block_size;
  const std::size_t rows = sequences * static_cast<std::size_t>(sizes_.query_length);
  const std::size_t q_elements = rows * static_cast<std::size_t>(sizes_.q_heads * sizes_.head_dim);
  const std::size_t pool_blocks = sequences * static_cast<std::size_t>(blocks_);
  const std::size_t kv_elements =
      pool_blocks * static_cast<std::size_t>(sizes_.block_size * sizes_.kv_heads * sizes_.head_dim);
  RandomStream random(17);
  const std::size_t bytes = type_ == ElementType::kFp32 ? 4 : 2;
  for (const auto& [memory, elements] :
       {std::pair{&q_, q_elements}, std::pair{&k_, kv_elements}, std::pair{&v_, kv_elements}}) {
    memory->resize(elements * bytes);
    for (std::size_t i = 0; i < elements; ++i) {
      const auto x = static_cast<float>(random.next_unit() - 0.5);
      const std::uint16_t narrow = bf16_of(x);
      std::memcpy(memory->data() + i * bytes, bytes == 4 ? static_cast<const void*>(&x) : &narrow,
                  bytes);
    }
  }
  out_.resize(q_elements * bytes);
  lse_ln_.resize(rows * static_cast<std::size_t>(sizes_.q_heads));
  for (std::size_t i = 0; i < pool_blocks; ++i) table_.push_back(static_cast<std::int32_t>(i));
  shuffle(table_, random);
  query_start_ = {0};
  for (int s = 0; s < sizes_.sequences; ++s) {
    context_length_.push_back(std::max(sizes_.context_length - 3 * s, sizes_.query_length));
    query_start_.push_back((s + 1) * sizes_.query_length);
  }
}

LaunchReport OwnCall::run(const LaunchOptions& options) {
  const bool is_prefill = which_ == OwnKernel::kPrefill || which_ == OwnKernel::kWidePrefill;
  return is_prefill ? run_prefill(options) : run_decode(options);
}

namespace {

KvTensorView tensor_view(const OwnSizes& sizes, ElementType type, const std::byte* data,
                         int pool_blocks) {
  const std::int64_t slot = std::int64_t{sizes.kv_heads} * sizes.head_dim;
  return {.data = data,
          .type = type,
          .layout = KvLayout::kTokenMajor,
          .num_blocks = pool_blocks,
          .block_size = sizes.block_size,
          .num_kv_heads = sizes.kv_heads,
          .head_dim = sizes.head_dim,
          .block_stride = slot * sizes.block_size,
          .head_stride = sizes.head_dim,
          .slot_stride = slot};
}

}  // namespace

LaunchReport OwnCall::run_decode(const LaunchOptions& options) {
  DeviceMemory memory;
  add(memory, "q", q_, BufferAccess::kReadOnly);
  add(memory, "k", k_, BufferAccess::kReadOnly);
  add(memory, "v", v_, BufferAccess::kReadOnly);
  add(memory, "block table", table_, BufferAccess::kReadOnly);
  add(memory, "context lengths", context_length_, BufferAccess::kReadOnly);
  add(memory, "out", out_, BufferAccess::kWriteFirst);
  add(memory, "lse", lse_ln_, BufferAccess::kWriteFirst);
  const int pool_blocks = sizes_.sequences * blocks_;
  kernels::SplitDecodeParams params;
  kernels::ReferenceDecodeParams& decode = params.decode;
  decode.q =
      dense_rows<const void*>(q_.data(), type_, sizes_.sequences, sizes_.q_heads, sizes_.head_dim);
  decode.out =
      dense_rows<void*>(out_.data(), type_, sizes_.sequences, sizes_.q_heads, sizes_.head_dim);
  decode.kv = {tensor_view(sizes_, type_, k_.data(), pool_blocks),
               tensor_view(sizes_, type_, v_.data(), pool_blocks)};
  decode.block_table = {table_.data(), sizes_.sequences, blocks_, blocks_};
  decode.context_length = context_length_.data();
  decode.options.scale = 1.0F / std::sqrt(static_cast<float>(sizes_.head_dim));
  decode.lse_ln = lse_ln_.data();
  const auto sequences = static_cast<std::uint32_t>(sizes_.sequences);
  const auto heads = static_cast<std::uint32_t>(sizes_.q_heads);
  const std::uint32_t threads = kernels_[0].program().threads_max;
  if (which_ == OwnKernel::kPagedDecode) {
    return launch(kernels_[0], {{sequences, heads, 1}, {threads, 1, 1}, 0}, Arguments().add(decode),
                  memory, options);
  }
  params.split_size = kSplitKeys;
  if (which_ == OwnKernel::kGqaDecode) {
    params.num_splits = 1;
    const LaunchShape shape = {
        {sequences, static_cast<std::uint32_t>(sizes_.kv_heads), 1}, {threads, 1, 1}, kSharedBytes};
    return launch(kernels_[0], shape, Arguments().add(params), memory, options);
  }
  params.num_splits = (sizes_.context_length + kSplitKeys - 1) / kSplitKeys;
  const std::size_t states = lse_ln_.size() * static_cast<std::size_t>(params.num_splits);
  std::vector<float> maximum(states);
  std::vector<float> sum(states);
  std::vector<float> weighted(states * static_cast<std::size_t>(sizes_.head_dim));
  params.states = {maximum.data(), sum.data(), weighted.data()};
  for (const BufferAccess access : {BufferAccess::kWriteFirst, BufferAccess::kReadOnly}) {
    add(memory, "maximum of splits", maximum, access);
    add(memory, "sum of splits", sum, access);
    add(memory, "weighted sum of splits", weighted, access);
    const bool is_merge = access == BufferAccess::kReadOnly;
    const auto splits = static_cast<std::uint32_t>(is_merge ? 1 : params.num_splits);
    LaunchReport report = launch(kernels_[is_merge ? 1 : 0],
                                 {{sequences, heads, splits}, {is_merge ? 32 : threads, 1, 1}, 0},
                                 Arguments().add(params), memory, options);
    if (is_merge || !report.passed()) return report;
  }
  return {};
}

LaunchReport OwnCall::run_prefill(const LaunchOptions& options) {
  DeviceMemory memory;
  add(memory, "q", q_, BufferAccess::kReadOnly);
  add(memory, "k", k_, BufferAccess::kReadOnly);
  add(memory, "v", v_, BufferAccess::kReadOnly);
  add(memory, "block table", table_, BufferAccess::kReadOnly);
  add(memory, "context lengths", context_length_, BufferAccess::kReadOnly);
  add(memory, "query starts", query_start_, BufferAccess::kReadOnly);
  add(memory, "out", out_, BufferAccess::kWriteFirst);
  add(memory, "lse", lse_ln_, BufferAccess::kWriteFirst);
  const int pool_blocks = sizes_.sequences * blocks_;
  const std::int64_t rows = std::int64_t{sizes_.sequences} * sizes_.query_length;
  kernels::PagedPrefillParams params;
  params.q = dense_rows<const void*>(q_.data(), type_, rows, sizes_.q_heads, sizes_.head_dim);
  params.out = dense_rows<void*>(out_.data(), type_, rows, sizes_.q_heads, sizes_.head_dim);
  params.kv = {tensor_view(sizes_, type_, k_.data(), pool_blocks),
               tensor_view(sizes_, type_, v_.data(), pool_blocks)};
  params.block_table = {table_.data(), sizes_.sequences, blocks_, blocks_};
  params.query_start = query_start_.data();
  params.context_length = context_length_.data();
  params.max_query_length = sizes_.query_length;
  params.options.scale = 1.0F / std::sqrt(static_cast<float>(sizes_.head_dim));
  params.options.window = std::int64_t{1} << 30;  // as the launch function sets it for none
  params.lse_ln = lse_ln_.data();
  const int tile_rows = which_ == OwnKernel::kWidePrefill ? 128 : 64;
  const int group_rows = sizes_.query_length * (sizes_.q_heads / sizes_.kv_heads);
  const LaunchShape shape = {
      {static_cast<std::uint32_t>((group_rows + tile_rows - 1) / tile_rows),
       static_cast<std::uint32_t>(sizes_.kv_heads), static_cast<std::uint32_t>(sizes_.sequences)},
      {kernels_[0].program().threads_max, 1, 1},
      kSharedBytes};
  return launch(kernels_[0], shape, Arguments().add(params), memory, options);
}

float OwnCall::element(const std::vector<std::byte>& memory, std::size_t index) const {
  std::uint32_t bits = 0;
  if (type_ == ElementType::kFp32) {
    std::memcpy(&bits, memory.data() + 4 * index, 4);
  } else {
    std::uint16_t narrow = 0;
    std::memcpy(&narrow, memory.data() + 2 * index, 2);
    bits = std::uint32_t{narrow} << 16;
  }
  float x = 0;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

std::size_t OwnCall::slot_of(int sequence, int token) const {
  const auto block = static_cast<std::size_t>(
      table_[static_cast<std::size_t>(sequence * blocks_ + token / sizes_.block_size)]);
  const auto slot = block * static_cast<std::size_t>(sizes_.block_size) +
                    static_cast<std::size_t>(token % sizes_.block_size);
  return slot * static_cast<std::size_t>(sizes_.kv_heads * sizes_.head_dim);
}

double OwnCall::worst_error() const {
  const auto dims = static_cast<std::size_t>(sizes_.head_dim);
  const auto q_heads = static_cast<std::size_t>(sizes_.q_heads);
  const std::size_t group = q_heads / static_cast<std::size_t>(sizes_.kv_heads);
  double worst = 0;
  for (int s = 0; s < sizes_.sequences; ++s) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(sizes_.query_length) * q_heads; ++i) {
      const int query = static_cast<int>(i / q_heads);
      const std::size_t kv_head = i % q_heads / group;
      const std::size_t row =
          (static_cast<std::size_t>(s * sizes_.query_length) * q_heads + i) * dims;
      const int visible = context_of(s) - sizes_.query_length + query + 1;
      std::vector<double> weighted(dims);
      double sum = 0;
      for (int token = 0; token < visible; ++token) {
        const std::size_t slot = slot_of(s, token) + kv_head * dims;
        double score = 0;
        for (std::size_t d = 0; d < dims; ++d)
          score += element(q_, row + d) * element(k_, slot + d);
        // Scores are small here.
        const double weight = std::exp(score / std::sqrt(static_cast<double>(dims)));
        sum += weight;
        for (std::size_t d = 0; d < dims; ++d) weighted[d] += weight * element(v_, slot + d);
      }
      for (std::size_t d = 0; d < dims; ++d) {
        worst = std::max(worst, std::fabs(weighted[d] / sum - element(out_, row + d)));
      }
    }
  }
  return worst;
}

double OwnCall::work() const {
  double tokens = 0;
  for (const std::int32_t length : context_length_) tokens += length;
  return tokens * sizes_.q_heads * sizes_.query_length;
}

}  // namespace recto::ptx
