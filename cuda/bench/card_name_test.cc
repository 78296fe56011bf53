#include "cuda/bench/card_name.h"

#include "bazel/testing/catch.h"

namespace recto::bench {
namespace {

TEST_CASE("a card's folder name drops the maker and characters unfit for a path") {
  CHECK(card_folder_name("NVIDIA H200") == "H200");
  CHECK(card_folder_name("NVIDIA H100 80GB HBM3") == "H100-80GB-HBM3");
  CHECK(card_folder_name("NVIDIA GeForce RTX 4090") == "RTX-4090");
  CHECK(card_folder_name("Tesla T4") == "Tesla-T4");
  CHECK(card_folder_name("../x (b) ") == "x-b");
  CHECK(card_folder_name("/") == "unnamed");
  CHECK(card_folder_name("") == "unnamed");
}

}  // namespace
}  // namespace recto::bench
