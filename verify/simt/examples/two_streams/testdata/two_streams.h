#pragma once

#include <cuda_runtime.h>

// turned[b][i] = pool[table[b]][31 - i], for `count` rows of 32.
void launch_turn_rows(const float* pool, const int* table, float* turned, int count,
                      cudaStream_t stream);

// sum[i] = the sum of rows[b][i] over `count` rows.
void launch_add_rows(const float* rows, float* sum, int count, cudaStream_t stream);
