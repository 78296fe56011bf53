#include "verify/cases/npz/npz_archive.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/npz/npy_format.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t kRoom = 1 << 20;

std::string file(const std::string& name) {
  std::ifstream opened("verify/cases/npz/testdata/" + name, std::ios::binary);
  REQUIRE(opened);
  return {std::istreambuf_iterator<char>(opened), {}};
}

std::vector<NpzMember> members() {
  return {{"q", make_npy_array<float>(NpyType::kFloat32, {2, 2}, {0.5F, 1, 2, 3})},
          {"window", make_npy_scalar<std::int64_t>(NpyType::kInt64, 7)},
          {"q_type", make_npy_text("bf16")},
          {"none", make_npy_array<std::int32_t>(NpyType::kInt32, {0, 4}, {})}};
}

void check_refused(const std::string& bytes, const std::string& message) {
  const Result<NpzArrays> parsed = parse_npz(bytes, kRoom);
  INFO(message);
  REQUIRE(!parsed.is_ok());
  CHECK(parsed.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(parsed.status().message(), ContainsSubstring(message));
}

TEST_CASE("an archive is written the same way each time, and read back") {
  const std::string bytes = npz_bytes(members()).value();
  CHECK(npz_bytes(members()).value() == bytes);
  const Result<NpzArrays> parsed = parse_npz(bytes, kRoom);
  INFO(parsed.status());
  REQUIRE(parsed.is_ok());
  CHECK(parsed.value().size() == members().size());
  for (const NpzMember& member : members()) CHECK(parsed.value().at(member.name) == member.array);
}

TEST_CASE("archives that NumPy wrote are read, compressed or not") {
  const NpzArrays plain = parse_npz(file("plain.npz"), kRoom).value();
  CHECK(plain.size() == 5);
  CHECK(npy_array_text(plain.at("out")) == "float32 [2, 3]");
  CHECK(plain.at("codes").at<std::uint16_t>(2) == 65535);
  CHECK(plain.at("slots").at<std::int64_t>(0) == -1);
  const NpzArrays compressed = parse_npz(file("compressed.npz"), kRoom).value();
  CHECK(npy_array_text(compressed.at("out")) == "float16 [8, 64]");
}

TEST_CASE("an archive cut short at any byte is refused") {
  const std::string whole = npz_bytes(members()).value();
  for (std::size_t size = 1; size < whole.size(); ++size)
    CHECK(!parse_npz(whole.substr(0, size), kRoom).is_ok());
  check_refused(whole.substr(0, whole.size() / 2), "expected an npz, which is a zip archive");
  check_refused("sequence,head,dim\n0,0,0\n", "expected an npz, which is a zip archive");
}

TEST_CASE("the archive's checksum reveals a damaged item, and the message names its member") {
  std::string bytes = npz_bytes(members()).value();
  bytes[bytes.find(std::string("\x00\x00\x00\x3f", 4))] ^= 1;
  check_refused(bytes, "member 'q.npy': CRC error");
}

TEST_CASE("members are arrays with a name each") {
  std::string renamed = npz_bytes(members()).value();
  for (std::size_t at = renamed.find("window.npy"); at != std::string::npos;
       at = renamed.find("window.npy", at + 1))
    renamed.replace(at, 10, "window.txt");
  check_refused(renamed, "member 'window.txt': expected a name in .npy");
}

TEST_CASE("unpacked members may take as many bytes as allowed, and no more") {
  const std::string bytes = file("compressed.npz");
  const std::int64_t unpacked = 128 + 8 * 64 * 2;
  CHECK(parse_npz(bytes, unpacked).is_ok());
  const Result<NpzArrays> parsed = parse_npz(bytes, unpacked - 1);
  REQUIRE(!parsed.is_ok());
  CHECK_THAT(parsed.status().message(),
             ContainsSubstring("member 'out.npy': expected at most 1151 bytes of members"));
}

}  // namespace
}  // namespace recto::verify
