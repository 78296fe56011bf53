#pragma once

// out[c] = the sum of in[r][c] over `tiles` times 4 rows of 32 floats, copied in pieces of 4
// floats. Pieces from `pieces_there` on count as zeros. A kernel that does not wait reads before
// its copies have arrived.
void run_sum_tiles(const float* in, float* out, int tiles, int pieces_there, bool waits);

// out[i] = in[count - 1 - i].
void run_reverse(const float* in, float* out, int count, bool waits);
