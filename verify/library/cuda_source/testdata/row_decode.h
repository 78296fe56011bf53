#pragma once

// What row_decode.cuh is launched with.

enum Fault {
  kNoFault,
  kNoBarrier,         // weights are read before all of them are written
  kNextSequence,      // a block of the next sequence is read and ignored
  kUnwritten,         // reads one element more of the workspace than written
  kByArrival,         // sums in the order in which threads arrive
  kDivergentBarrier,  // half of the threads wait at another barrier
};

struct RowDecode {
  const float *q, *k, *v;
  const int *table, *lengths;
  float *out, *scratch;  // scratch: [num_seqs, num_heads]
  long row_stride, head_stride, table_stride;
  long k_block, k_head, k_slot, v_block, v_head, v_slot;
  int num_heads, group, dim, block_size;
  float scale;
  int fault;
};
