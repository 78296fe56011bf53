#pragma once

// The C interface by which recto runs third-party kernels: C11 and C++, no dependency.
//
// A shared library exports recto_kernel_table(), which returns a table of functions. recto calls
// them in a separate process, under a time limit, with guard pages around each buffer, and judges
// what they write. The library needs to export nothing else.
//
// Versions: another major version is another interface, and refused. A minor version adds fields at
// the end of structs that have `struct_bytes`, and functions at the end of the table. A side built
// with an older header has smaller structs; fields missing in them count as null.
//
// Rules for every call:
//   - recto owns all memory of the call; it is valid until the function returns, and the library
//     must not keep or free it. Memory that the library allocates is its own.
//   - pointers to const must not be written through. In written buffers, only the elements that a
//     view names may change: gaps between rows or heads, and slots of no token, are compared.
//   - data of q, K, V, out and the caches is aligned to 16 bytes, arrays to their element. Strides
//     are counted in elements, are at least 0, and may have any divisors: a kernel that requires
//     more alignment returns kRectoUnsupported.
//   - offsets may exceed 32 bits. An array of no elements may be null.
//   - a function may be called any number of times, one call at a time, always from one thread.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECTO_KERNEL_ABI_MAJOR 1
#define RECTO_KERNEL_ABI_MINOR 1

// What a function returns; any other number is a failure.
enum RectoStatus {
  kRectoOk = 0,
  // The kernel does not support the call and wrote nothing but the message. The case is skipped,
  // and counted by the message, which should not vary with sizes ("head dims that are no multiple
  // of 8").
  kRectoUnsupported = 1,
  // The kernel supports the call, but failed: the case fails, with the message. The text before the
  // message's first ':' is the kind of failure ("race in kernel x: ..."); recto shows one of each
  // kind.
  kRectoFailed = 2
};

enum RectoElementType {
  kRectoFp32 = 0,
  kRectoFp16 = 1,  // IEEE binary16
  kRectoBf16 = 2,  // the upper half of a binary32
  kRectoE4m3 = 3,  // OCP 8-bit, no infinity, largest 448; caches only
  kRectoE5m2 = 4   // OCP 8-bit, with infinities, largest 57344; caches only
};

// The layout of the cache of K, and of V, without gaps. Strides alone determine the addresses of
// elements; the layout says whether a head's dims are contiguous.
enum RectoKvLayout {
  kRectoTokenMajor = 0,  // [num_blocks, block_size, num_kv_heads, head_dim]
  kRectoHeadMajor = 1,   // [num_blocks, num_kv_heads, block_size, head_dim]
  // K: [num_blocks, num_kv_heads, head_dim / x, block_size, x], x elements in 16 bytes;
  // V: [num_blocks, num_kv_heads, head_dim, block_size]
  kRectoPacked = 2
};

// How the codes of an fp8 cache are scaled: value = code * scale.
enum RectoScaleKind { kRectoNoScale = 0, kRectoScalePerTensor = 1, kRectoScalePerKvHead = 2 };

// Where the memory of a call is; bits of RectoKernelTable.memories. `recto` passes host memory,
// `recto_on_gpu` also device memory to libraries that take it: copies, which are read back once the
// device is idle.
enum RectoMemory {
  kRectoHostMemory = 1,
  kRectoDeviceMemory = 2  // of a CUDA device
};

// Bits of RectoKernelTable.features. A bit that recto does not know is refused.
enum RectoFeatures {
  // Attention writes no lse_ln: it is not compared. Laws that need it skip what they need it for.
  kRectoWithoutLseLn = 1
};

// The first member of every call.
typedef struct RectoCallContext {
  uint64_t struct_bytes;  // of the whole call, in this build of recto
  int32_t memory;         // RectoMemory: of all pointers of the call except the next two
  int32_t device;         // ordinal, current when the function is called; 0 for host memory
  void* stream;           // cudaStream_t; null: the default stream. Work may still run on return.
  char* message;          // host, [message_bytes], zero-terminated: why the status is not kRectoOk
  int64_t message_bytes;  // at least 256
} RectoCallContext;

// Rows of heads to read: queries, or the K or V of new tokens. A head's dims are contiguous:
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

// The same, to be written.
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

// One layer's cache of K, or of V, to read. Element (block, head, slot, dim) is
//   data[block * block_stride + head * head_stride + slot * slot_stride + d], with d = dim, or
//   dim / pack_width * pack_stride + dim % pack_width in the packed layout.
// K and V of a call have equal type, layout, num_blocks, block_size and num_kv_heads.
typedef struct RectoKvTensor {
  const void* data;
  int32_t type;    // RectoElementType
  int32_t layout;  // RectoKvLayout
  int64_t num_blocks;
  int64_t block_size;  // slots per block
  int64_t num_kv_heads;
  int64_t head_dim;      // K's and V's may differ
  int64_t block_stride;  // elements, as all strides
  int64_t head_stride;
  int64_t slot_stride;  // 1 in packed V
  int64_t pack_width;   // packed: consecutive dims side by side (K: x, V: 1); else 0
  int64_t pack_stride;  // packed: from one pack to the next; else 0
  const float* scale;   // null, [1] or [num_kv_heads] by scale_kind; positive, finite
  int32_t scale_kind;   // RectoScaleKind; kRectoNoScale unless the type is fp8
  int32_t reserved;     // 0
} RectoKvTensor;

// The same, to be written.
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
  int64_t slot_stride;  // 1 in packed V
  int64_t pack_width;
  int64_t pack_stride;
  const float* scale;
  int32_t scale_kind;
  int32_t reserved;
} RectoMutableKvTensor;

// Attention of the query rows of each sequence to its cached context, which includes the keys of
// the rows' own tokens. Row r of m, in a context of n, has position i = n - m + r; query head h
// reads KV head h / (num_q_heads / num_kv_heads):
//
//   s_j = softcap(scale * q.k_j) + alibi_slopes[h] * (j - i), for visible j of [0, n)
//   softcap(x) = softcap * tanh(x / softcap) if softcap > 0, else x
//   visible: j <= i if causal, and i - window < j if there is a window
//   out = sum_j exp(s_j) v_j / l, with l = sum_j exp(s_j), plus exp(sinks[h]) if there are sinks
//   lse_ln = ln(l)
//
// A row that sees no key gives out = 0, and lse_ln = -infinity, or its sink. Memory that the
// context and the block table do not address, NaN included, changes nothing.
typedef struct RectoAttentionCall {
  RectoCallContext context;
  RectoRows q;  // [num_query_rows, num_q_heads, k.head_dim], fp32, fp16 or bf16
  // The element type is q's, or fp8 if q is fp16 or bf16.
  RectoKvTensor k;
  RectoKvTensor v;
  // [num_seqs, max_blocks]: physical block of each logical one. Entries beyond a sequence's blocks
  // may be any number, also invalid ids.
  const int32_t* block_table;
  int64_t num_seqs;  // may be 0
  int64_t max_blocks;
  int64_t block_table_row_stride;  // elements, at least max_blocks
  const int32_t* context_length;   // [num_seqs]; may be 0
  // [num_seqs + 1], ascending from 0 to num_query_rows: sequence s has rows [query_start[s],
  // query_start[s + 1]), possibly none, or more than its context. Null for decode: row s belongs to
  // sequence s.
  const int32_t* query_start;
  int64_t max_context_length;  // largest of the call; launches cannot read the device
  int64_t max_query_length;    // largest number of rows of a sequence
  float scale;                 // positive or negative
  float softcap;               // 0: none
  int32_t causal;              // 0: all keys of the context are visible
  int32_t reserved;            // 0
  int64_t window;              // visible keys, the row's own included; 0: no window
  const float* alibi_slopes;   // [num_q_heads], or null: none
  const float* sinks;          // [num_q_heads], or null: none
  RectoMutableRows out;        // [num_query_rows, num_q_heads, v.head_dim], of q's type
  float* lse_ln;  // [num_query_rows, num_q_heads], natural logarithm; see kRectoWithoutLseLn
} RectoAttentionCall;

// Writes token t into slot slot_mapping[t] = block * block_size + offset of the caches; -1 writes
// nothing, and no two tokens share a slot. To fp8: x / scale, rounded to nearest even and saturated
// to the largest finite number, NaN stays NaN; to the rows' own type: the same bits.
typedef struct RectoKvWriteCall {
  RectoCallContext context;
  RectoRows k;                  // [num_tokens, num_kv_heads, k_cache.head_dim]
  RectoRows v;                  // [num_tokens, num_kv_heads, v_cache.head_dim]
  const int64_t* slot_mapping;  // [num_tokens]
  int64_t num_tokens;           // may be 0
  RectoMutableKvTensor k_cache;
  RectoMutableKvTensor v_cache;
} RectoKvWriteCall;

// What a library offers. Null means that it lacks the function; it must have at least one.
typedef struct RectoKernelTable {
  uint64_t struct_bytes;  // sizeof(RectoKernelTable) in the library's build
  int32_t abi_major;      // RECTO_KERNEL_ABI_MAJOR
  int32_t abi_minor;      // RECTO_KERNEL_ABI_MINOR
  const char* name;       // of the kernels, for tables and messages; UTF-8, up to 63 bytes
  uint32_t memories;      // RectoMemory: one bit, or both
  uint32_t reserved;      // 0
  int32_t (*decode)(const RectoAttentionCall* call);   // one query row per sequence
  int32_t (*prefill)(const RectoAttentionCall* call);  // any number of rows
  int32_t (*kv_write)(const RectoKvWriteCall* call);
  uint64_t features;  // since 1.1: RectoFeatures
} RectoKernelTable;

// Exported by the library, which owns the table. The table must not change.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const RectoKernelTable*
recto_kernel_table(void);

#ifdef __cplusplus
}
#endif
