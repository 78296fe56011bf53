#pragma once

// out[i] = codes[i] * scale + bias[i]; in bf16, with e4m3 codes.
void run_dequantise(const void* bias, const void* codes, float scale, void* out, int count);

// out[i] = exp(2 in[i]) / (sum of exp(2 in[j].x) over j), for up to 64 pairs of halves.
void run_weigh_pairs(const void* in, void* out, int count);

// out[i] = in[2 i] + in[2 i + 1], halves read as pairs.
void run_add_pairs_at(const void* in, void* out, int count);
