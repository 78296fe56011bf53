#pragma once

// Elements of queries, caches and outputs: fp32, fp16 and bf16. They are loaded four at a time and
// turned into fp32, in which all arithmetic is done.

#include <kernel_dialect.h>

#include <type_traits>

namespace recto::kernels {

// Rounds to nearest even. What has the type already keeps its bits, a NaN's too.
template <typename Target, typename Source>
__device__ inline Target convert(Source value) {
  if constexpr (std::is_same_v<Source, __half> && !std::is_same_v<Target, __half>) {
    return convert<Target>(__half2float(value));
  } else if constexpr (std::is_same_v<Source, __nv_bfloat16> &&
                       !std::is_same_v<Target, __nv_bfloat16>) {
    return convert<Target>(__bfloat162float(value));
  } else if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

// Four neighbours; in registers, or in memory at a multiple of their size.
template <typename Element>
struct alignas(4 * sizeof(Element)) Four {
  Element at[4];
};

// (Written out: host compilers make one vector of it then, and nvcc unrolls anyway.)
template <typename Target, typename Source>
__device__ inline Four<Target> convert_four(const Four<Source>& values) {
  return {{convert<Target>(values.at[0]), convert<Target>(values.at[1]),
           convert<Target>(values.at[2]), convert<Target>(values.at[3])}};
}

__device__ inline void add_product(const Four<float>& a, const Four<float>& b, Four<float>& sum) {
  sum.at[0] += a.at[0] * b.at[0];
  sum.at[1] += a.at[1] * b.at[1];
  sum.at[2] += a.at[2] * b.at[2];
  sum.at[3] += a.at[3] * b.at[3];
}

__device__ inline void add_product(float a, const Four<float>& b, Four<float>& sum) {
  sum.at[0] += a * b.at[0];
  sum.at[1] += a * b.at[1];
  sum.at[2] += a * b.at[2];
  sum.at[3] += a * b.at[3];
}

__device__ inline float sum_of(const Four<float>& values) {
  return (values.at[0] + values.at[1]) + (values.at[2] + values.at[3]);
}

// How the elements of a row are reached: a policy of the kernels, with
//
//   load(row, dim, head_dim)            elements [dim, dim + 4) of a row, zeros beyond its end
//   store(values, row, dim, head_dim)   likewise; nothing is written beyond the row's end

// Four by one instruction: rows are aligned, and hold a multiple of four elements.
struct Fours {
  template <typename Element>
  __device__ static Four<Element> load(const Element* row, int dim, int /*head_dim*/) {
    return *reinterpret_cast<const Four<Element>*>(row + dim);
  }
  template <typename Element>
  __device__ static void store(const Four<Element>& values, Element* row, int dim,
                               int /*head_dim*/) {
    *reinterpret_cast<Four<Element>*>(row + dim) = values;
  }
};

// One by one, for all other rows. Sums are formed in the same order, so that no bit depends on how
// a cache is aligned.
struct Singles {
  template <typename Element>
  __device__ static Four<Element> load(const Element* row, int dim, int head_dim) {
    Four<Element> values = {};
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) values.at[i] = row[dim + i];
    }
    return values;
  }
  template <typename Element>
  __device__ static void store(const Four<Element>& values, Element* row, int dim, int head_dim) {
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) row[dim + i] = values.at[i];
    }
  }
};

}  // namespace recto::kernels
