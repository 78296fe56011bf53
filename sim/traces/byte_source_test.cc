#include "sim/traces/byte_source.h"

#include <string>
#include <utility>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

TEST_CASE("a file gives its bytes and then its end, again and again") {
  auto source = std::move(open_file_source("sim/traces/testdata/plain.csv")).value();
  std::string bytes;
  char piece[7];
  while (true) {
    const std::size_t count = source->read(piece).value();
    if (count == 0) break;
    bytes.append(piece, count);
  }
  CHECK(bytes.starts_with("arrival_s,prompt_tokens,output_tokens\n0,100,20\n"));
  CHECK(source->read(piece).value() == 0);
}

TEST_CASE("what is missing or no file is said so") {
  CHECK(open_file_source("no/such/file").status() ==
        Status::invalid_input("cannot be opened: No such file or directory"));
  CHECK(open_file_source("/").status() ==
        Status::invalid_input("is a directory: expected a trace file"));
  CHECK(open_file_source("-").status() ==
        Status::invalid_input("is no name of standard input here: expected a trace file"));
}

TEST_CASE("data without gzip's magic passes unchanged, however short") {
  for (const std::string bytes : {"", "\x1f", "ab", "plain text"}) {
    auto source = std::move(decompress_if_gzip(make_memory_source(bytes), 16)).value();
    char piece[100];
    std::string read;
    while (const std::size_t count = source->read(piece).value()) read.append(piece, count);
    CHECK(read == bytes);
  }
}

}  // namespace
}  // namespace recto::sim
