#pragma once

// For tests: names the policy by which kernels access the rows of views.

#include <kernel_dialect.h>

#include <string>
#include <type_traits>

#include "core/contract.h"
#include "core/status.h"
#include "cuda/kernels/dispatch.cuh"

namespace recto::verify {

// Returns "fours", "packs" or "singles".
template <typename... Views>
std::string access_name(const Views&... views) {
  std::string name;
  const Status found = kernels::with_access(
      [&name](auto access) {
        using Access = typename decltype(access)::Type;
        name = std::is_same_v<Access, kernels::Fours>   ? "fours"
               : std::is_same_v<Access, kernels::Packs> ? "packs"
                                                        : "singles";
        return Status::ok();
      },
      views...);
  RECTO_CHECK(found.is_ok());
  return name;
}

}  // namespace recto::verify
