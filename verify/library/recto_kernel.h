#pragma once

// The C interface by which recto runs other people's kernels: C11 and C++, no dependency.
//
// A shared library exports recto_kernel_table(), which returns a table of functions. recto calls
// them in a process of their own, under a time limit, with memory that has guard pages around each
// buffer, and judges what they write: recto_kernel_table is all that it needs to find.
//
// Versions: another major version is another interface, and refused. A minor version adds fields at
// the end of structs that have `struct_bytes`, and functions at the end of the table. Whoever was
// built with an older header has smaller structs, and what is missing in them counts as null.
//
// What holds of every call:
//   - all memory is recto's, valid until the function returns; nothing of it is the library's to
//     keep or to free. What the library allocates itself is its own.
//   - pointers to const must not be written through. Of what is written, only the elements that a
//     view names may change: gaps between rows or heads, and slots of no token, are compared.
//   - data of q, K, V, out and the caches is aligned to 16 bytes, arrays to their element. Strides
//     are counted in elements, are at least 0, and need not be multiples of anything: a kernel that
//     wants more says kRectoUnsupported.
//   - offsets may exceed 32 bits. An array of no elements may be null.
//   - a function may be called any number of times, one call at a time, always from one thread.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECTO_KERNEL_ABI_MAJOR 1
#define RECTO_KERNEL_ABI_MINOR 0

// What a function returns; any other number is a failure.
enum RectoStatus {
  kRectoOk = 0,
  // Not for this kernel; nothing was written but the message. The case is skipped, and counted
  // under the message: words that do not vary with sizes ("head dims that are no multiple of 8").
  kRectoUnsupported = 1,
  // It is for this kernel, and went wrong: the case fails, with the message. What stands before its
  // first ':' is the kind of failure ("race in kernel x: ..."); recto shows one of each kind.
  kRectoFailed = 2
};

enum RectoElementType {
  kRectoFp32 = 0,
  kRectoFp16 = 1,  // IEEE binary16
  kRectoBf16 = 2,  // the upper half of a binary32
  kRectoE4m3 = 3,  // OCP 8-bit, no infinity, largest 448; caches only
  kRectoE5m2 = 4   // OCP 8-bit, with infinities, largest 57344; caches only
};

// What the cache of K, and of V, looks like where it has no gaps. Strides alone say where elements
// lie; the layout says whether a head's dims are contiguous.
enum RectoKvLayout {
  kRectoTokenMajor = 0,  // [num_blocks, block_size, num_kv_heads, head_dim]
  kRectoHeadMajor = 1,   // [num_blocks, num_kv_heads, block_size, head_dim]
  // K: [num_blocks, num_kv_heads, head_dim / x, block_size, x], x elements in 16 bytes;
  // V: [num_blocks, num_kv_heads, head_dim, block_size]
  kRectoPacked = 2
};

// How the codes of an fp8 cache are scaled: value = code * scale.
enum RectoScaleKind { kRectoNoScale = 0, kRectoScalePerTensor = 1, kRectoScalePerKvHead = 2 };

// Where the memory of a call lies; bits of RectoKernelTable.memories. `recto` hands over the
// host's, `recto_on_gpu` the device's to whoever takes it: copies, which come back once the device
// is idle.
enum RectoMemory {
  kRectoHostMemory = 1,
  kRectoDeviceMemory = 2  // of a CUDA device
};

// What every call begins with.
typedef struct RectoCallContext {
  uint64_t struct_bytes;  // of the whole call, as recto was built
  int32_t memory;         // RectoMemory: where all pointers of the call lie, but for these two
  int32_t device;         // ordinal, current when the function is called; 0 for host memory
  void* stream;           // cudaStream_t; null: the default stream. Work may still run on return.
  char* message;          // host, [message_bytes], zero-terminated: why the status is not kRectoOk
  int64_t message_bytes;  // at least 256
} RectoCallContext;

// Rows of heads that are read: queries, or the K or V of new tokens. A head's dims are contiguous:
// element (row, head, dim) is data[row * row_stride + head * head_stride + dim].
typedef struct RectoRows {
  const void* data;  // [num_rows, num_heads, head_dim]
  int32_t type;      // RectoElementType
  int32_t reserved;  // 0
  int64_t num_rows;  // may be 0
  int64_t num_heads;
  int64_t head_dim;
  int64_t row_stride;   // elements
  int64_t head_stride;  // elements
} RectoRows;

// The same, written.
typedef struct RectoMutableRows {
  void* data;
  int32_t type;
  int32_t reserved;
  int64_t num_rows;
  int64_t num_heads;
  int64_t head_dim;
  int64_t row_stride;
  int64_t head_stride;
} RectoMutableRows;

// The cache of K, or of V, of one layer, that is read. Element (block, head, slot, dim) is
//   data[block * block_stride + head * head_stride + slot * slot_stride + d], with d = dim, or
//   dim / pack_width * pack_stride + dim % pack_width in the packed layout.
// K and V of a call have type, layout, num_blocks, block_size and num_kv_heads in common.
typedef struct RectoKvTensor {
  const void* data;
  int32_t type;    // RectoElementType
  int32_t layout;  // RectoKvLayout
  int64_t num_blocks;
  int64_t block_size;  // slots of a block
  int64_t num_kv_heads;
  int64_t head_dim;      // of K and V each its own
  int64_t block_stride;  // elements, as all strides
  int64_t head_stride;
  int64_t slot_stride;  // in packed V 1
  int64_t pack_width;   // packed: consecutive dims side by side (K: x, V: 1); else 0
  int64_t pack_stride;  // packed: from one pack to the next; else 0
  const float* scale;   // null, [1] or [num_kv_heads] by scale_kind; positive, finite
  int32_t scale_kind;   // RectoScaleKind; kRectoNoScale unless the type is fp8
  int32_t reserved;     // 0
} RectoKvTensor;

// The same, written.
typedef struct RectoMutableKvTensor {
  void* data;
  int32_t type;
  int32_t layout;
  int64_t num_blocks;
  int64_t block_size;
  int64_t num_kv_heads;
  int64_t head_dim;
  int64_t block_stride;
  int64_t head_stride;
  int64_t slot_stride;  // in packed V 1
  int64_t pack_width;
  int64_t pack_stride;
  const float* scale;
  int32_t scale_kind;
  int32_t reserved;
} RectoMutableKvTensor;

// Attention of the query rows of each sequence to its cached context, which includes the keys of
// the rows' own tokens. Row r of m, in a context of n, stands at i = n - m + r; query head h reads
// KV head h / (num_q_heads / num_kv_heads):
//
//   s_j = softcap(scale * q.k_j) + alibi_slopes[h] * (j - i), for visible j of [0, n)
//   softcap(x) = softcap * tanh(x / softcap) if softcap > 0, else x
//   visible: j <= i if causal, and i - window < j if there is a window
//   out = sum_j exp(s_j) v_j / l, with l = sum_j exp(s_j), plus exp(sinks[h]) if there are sinks
//   lse_ln = ln(l)
//
// A row that sees no key gives out = 0, and lse_ln = -infinity, or its sink. Whatever the context
// and the table do not address, NaN included, changes nothing.
typedef struct RectoAttentionCall {
  RectoCallContext context;
  RectoRows q;  // [num_query_rows, num_q_heads, k.head_dim], fp32, fp16 or bf16
  // Of q's type, or fp8 for fp16 and bf16.
  RectoKvTensor k;
  RectoKvTensor v;
  // [num_seqs, max_blocks]: physical block of each logical one. What lies beyond a sequence's
  // blocks may be any number, and no block.
  const int32_t* block_table;
  int64_t num_seqs;  // may be 0
  int64_t max_blocks;
  int64_t block_table_row_stride;  // elements, at least max_blocks
  const int32_t* context_length;   // [num_seqs]; may be 0
  // [num_seqs + 1], ascending from 0 to num_query_rows: sequence s has rows [query_start[s],
  // query_start[s + 1]), which may be none, and more than its context. Null for decode: row s is
  // sequence s's.
  const int32_t* query_start;
  int64_t max_context_length;  // of the call's contexts, for launches that cannot read the device
  int64_t max_query_length;    // of its sequences' rows
  float scale;                 // of either sign
  float softcap;               // 0: none
  int32_t causal;              // 0: all keys of the context are visible
  int32_t reserved;            // 0
  int64_t window;              // keys seen, the row's own among them; 0: no window
  const float* alibi_slopes;   // [num_q_heads], or null: none
  const float* sinks;          // [num_q_heads], or null: none
  RectoMutableRows out;        // [num_query_rows, num_q_heads, v.head_dim], of q's type
  float* lse_ln;               // [num_query_rows, num_q_heads], natural logarithm
} RectoAttentionCall;

// Writes token t into slot slot_mapping[t] = block * block_size + offset of the caches; -1 writes
// nothing, and no two tokens have one slot. Into fp8: x / scale, rounded to nearest even and
// saturated to the largest finite number, NaN as NaN; into the rows' own type: the bits.
typedef struct RectoKvWriteCall {
  RectoCallContext context;
  RectoRows k;                  // [num_tokens, num_kv_heads, k_cache.head_dim]
  RectoRows v;                  // [num_tokens, num_kv_heads, v_cache.head_dim]
  const int64_t* slot_mapping;  // [num_tokens]
  int64_t num_tokens;           // may be 0
  RectoMutableKvTensor k_cache;
  RectoMutableKvTensor v_cache;
} RectoKvWriteCall;

// What a library offers. A null function is one that it does not have; one at least it must have.
typedef struct RectoKernelTable {
  uint64_t struct_bytes;  // sizeof(RectoKernelTable), as the library was built
  int32_t abi_major;      // RECTO_KERNEL_ABI_MAJOR
  int32_t abi_minor;      // RECTO_KERNEL_ABI_MINOR
  const char* name;       // of the kernels, for tables and messages; UTF-8, up to 63 bytes
  uint32_t memories;      // RectoMemory, or both of them
  uint32_t reserved;      // 0
  int32_t (*decode)(const RectoAttentionCall* call);   // one query row a sequence
  int32_t (*prefill)(const RectoAttentionCall* call);  // any number of rows
  int32_t (*kv_write)(const RectoKvWriteCall* call);
} RectoKernelTable;

// Exported by the library. The table is the library's, and stays as it is.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const RectoKernelTable*
recto_kernel_table(void);

#ifdef __cplusplus
}
#endif
