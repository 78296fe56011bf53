#include "sim/traces/byte_source.h"

#include <string>
#include <utility>

#include "bazel/testing/catch.h"
#include "sim/traces/gzip_text.h"

namespace recto::sim {
namespace {

TEST_CASE("a file gives its bytes, and then its end at each read") {
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

TEST_CASE("a missing file, a folder and standard input are refused with the reason") {
  CHECK(open_file_source("no/such/file").status() ==
        Status::invalid_input("cannot be opened: No such file or directory"));
  CHECK(open_file_source("/").status() ==
        Status::invalid_input("is a directory: expected a trace file"));
  CHECK(open_file_source("-").status() ==
        Status::invalid_input("does not name standard input here: expected a trace file"));
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

using recto::testing::gzip;

// The decompressed content of `compressed`, read through buffers of the given sizes.
Result<std::string> gunzip(std::string compressed, std::size_t chunk_bytes = 1000,
                           std::size_t piece_bytes = 1000) {
  auto source = decompress_if_gzip(make_memory_source(std::move(compressed)), chunk_bytes);
  if (!source.is_ok()) return source.status();
  std::string text;
  std::string piece(piece_bytes, '\0');
  while (true) {
    const Result<std::size_t> count = source.value()->read(piece);
    if (!count.is_ok()) return count.status();
    if (count.value() == 0) return text;
    text.append(piece, 0, count.value());
  }
}

const std::string kText = "a line, and a line, and a line\nand another one\n";

TEST_CASE("gzip data gives its text through buffers of any size") {
  for (const std::size_t chunk : {1, 2, 3, 17, 1000}) {
    for (const std::size_t piece : {1, 5, 1000}) {
      CAPTURE(chunk, piece);
      CHECK(gunzip(gzip(kText), chunk, piece).value() == kText);
      CHECK(gunzip(gzip(""), chunk, piece).value().empty());
    }
  }
}

TEST_CASE("members that follow one another are joined") {
  const std::string members = gzip(kText) + gzip("") + gzip("third");
  for (const std::size_t chunk : {1, 7, 1000}) {
    CHECK(gunzip(members, chunk).value() == kText + "third");
  }
}

TEST_CASE("gzip data that stops short is truncated wherever it stops") {
  const std::string whole = gzip(kText);
  for (std::size_t length = 2; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(gunzip(whole.substr(0, length)).status() ==
          Status::invalid_input("gzip data is truncated: it stops at offset " +
                                std::to_string(length) + " inside a member"));
  }
}

TEST_CASE("rubbish behind gzip data is an error") {
  const std::string whole = gzip(kText);
  const std::string expected =
      "bytes that are not gzip follow the gzip data, from offset " + std::to_string(whole.size());
  CHECK(gunzip(whole + "rubbish").status().message() == expected);
  CHECK(gunzip(whole + '\0').status().message() == expected);
  CHECK(gunzip(whole + "\x1f").status().message() == "gzip data is truncated: it stops at offset " +
                                                         std::to_string(whole.size() + 1) +
                                                         " inside a member");
}

TEST_CASE("data before damage is read, and then each read gives the same error") {
  const std::string whole = gzip(kText);
  for (const std::string& damaged : {whole.substr(0, whole.size() - 1), whole + "rubbish"}) {
    auto source = std::move(decompress_if_gzip(make_memory_source(damaged), 1000)).value();
    std::string piece(1000, '\0');
    CHECK(source->read(piece).value() == kText.size());
    const Status problem = source->read(piece).status();
    CHECK_FALSE(problem.is_ok());
    CHECK(source->read(piece).status() == problem);
  }
}

// The text before the damage, read through buffers of one size.
std::string text_before_damage(const std::string& damaged, std::size_t buffer_bytes) {
  auto source = std::move(decompress_if_gzip(make_memory_source(damaged), buffer_bytes)).value();
  std::string text;
  std::string piece(buffer_bytes, '\0');
  while (true) {
    const Result<std::size_t> count = source->read(piece);
    if (!count.is_ok()) return text;
    REQUIRE(count.value() > 0);
    text.append(piece, 0, count.value());
  }
}

TEST_CASE("truncated data gives the same text through buffers of any size") {
  const std::string whole = gzip(kText);
  for (std::size_t length = 2; length < whole.size(); ++length) {
    const std::string text = text_before_damage(whole.substr(0, length), 1000);
    for (const std::size_t buffer_bytes : {1, 7, 64}) {
      INFO(length << " bytes through buffers of " << buffer_bytes);
      CHECK(text_before_damage(whole.substr(0, length), buffer_bytes) == text);
    }
  }
}

TEST_CASE("a flipped bit is noticed") {
  std::string damaged = gzip(kText);
  damaged[damaged.size() - 6] ^= 1;  // damages the checksum
  CHECK(gunzip(damaged).status().message() == "gzip data is corrupt at offset " +
                                                  std::to_string(damaged.size() - 4) +
                                                  ": incorrect data check");
}

}  // namespace
}  // namespace recto::sim
