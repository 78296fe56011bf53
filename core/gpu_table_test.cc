#include "core/gpu_table.h"

#include <set>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

using Catch::Approx;

TEST_CASE("the table has every card that the project promises, once") {
  std::set<std::string> names;
  for (const GpuSpec& gpu : gpu_table()) CHECK(names.insert(gpu.name).second);
  CHECK(names == std::set<std::string>{"A100-40", "A100-80", "H100", "H200", "B200", "L4",
                                       "RTX-4090", "RTX-PRO-6000"});
}

TEST_CASE("every card has all figures above 0, and a source") {
  for (const GpuSpec& gpu : gpu_table()) {
    INFO(gpu.name);
    CHECK(gpu.memory_bandwidth_bytes_per_s > 0);
    CHECK(gpu.dense_16bit_flops_per_s > 0);
    CHECK(gpu.host_link_bytes_per_s > 0);
    CHECK(gpu.peer_link_bytes_per_s >= gpu.host_link_bytes_per_s);
    CHECK_FALSE(gpu.source.empty());
    CHECK_FALSE(gpu.memory_source.empty());
  }
}

// Vendors' gigabytes lie between decimal and binary ones; a wrong digit in the table does not.
TEST_CASE("the driver reports 0 to 8 % more memory than is marketed") {
  for (const GpuSpec& gpu : gpu_table()) {
    INFO(gpu.name);
    const double ratio =
        static_cast<double>(gpu.memory.value()) / static_cast<double>(gpu.marketed_memory.value());
    CHECK(ratio > 1.0);
    CHECK(ratio < 1.08);
  }
}

TEST_CASE("fp8 doubles the dense rate, and no card before Ada has it") {
  for (const GpuSpec& gpu : gpu_table()) {
    INFO(gpu.name);
    const bool is_ampere = gpu.name.substr(0, 4) == "A100";
    REQUIRE(gpu.dense_8bit_flops_per_s.has_value() == !is_ampere);
    if (is_ampere) continue;
    const double ratio = *gpu.dense_8bit_flops_per_s / gpu.dense_16bit_flops_per_s;
    CHECK(ratio == Approx(2.0).margin(0.01));
  }
}

TEST_CASE("card names are found in any case, and an unknown one is refused with the list") {
  CHECK(find_gpu("rtx-4090").value().name == "RTX-4090");
  const Status status = find_gpu("rtx-409").status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  for (const GpuSpec& gpu : gpu_table()) {
    CHECK(status.message().find(gpu.name) != std::string::npos);
  }
}

}  // namespace
}  // namespace recto
