// Files that NumPy wrote are in testdata/; damaged files are made here.

#include "verify/cases/npz/npy_format.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string file(const std::string& name) {
  std::ifstream opened("verify/cases/npz/testdata/" + name, std::ios::binary);
  REQUIRE(opened);
  return {std::istreambuf_iterator<char>(opened), {}};
}

std::string with_header(const std::string& header, const std::string& items = "") {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  return bytes + header + items;
}

void check_refused(const std::string& bytes, const std::string& message) {
  const Result<NpyArray> parsed = parse_npy(bytes);
  INFO(message);
  REQUIRE(!parsed.is_ok());
  CHECK(parsed.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(parsed.status().message(), ContainsSubstring(message));
}

TEST_CASE("arrays that NumPy wrote are read, and written again byte for byte") {
  for (const char* name : {"floats.npy", "one_number.npy", "no_items.npy", "text.npy"}) {
    const Result<NpyArray> parsed = parse_npy(file(name));
    INFO(name << ": " << parsed.status());
    REQUIRE(parsed.is_ok());
    CHECK(npy_bytes(parsed.value()) == file(name));
  }
  const NpyArray floats = parse_npy(file("floats.npy")).value();
  CHECK(npy_array_text(floats) == "float32 [2, 3]");
  for (std::int64_t i = 0; i < 6; ++i) CHECK(floats.at<float>(i) == static_cast<float>(i));
  CHECK(parse_npy(file("one_number.npy")).value().at<double>(0) == 0.1);
  CHECK(parse_npy(file("text.npy")).value() == make_npy_text("bf16"));
}

TEST_CASE("a header of version 2 is read") {
  CHECK(parse_npy(file("version_2.npy")).value() == parse_npy(file("floats.npy")).value());
}

TEST_CASE("arrays in Fortran's order are read into C's") {
  const NpyArray array = parse_npy(file("fortran.npy")).value();
  CHECK(npy_array_text(array) == "int32 [2, 3, 4]");
  for (std::int32_t i = 0; i < 24; ++i) CHECK(array.at<std::int32_t>(i) == i);
}

TEST_CASE("an array without items may have other sizes of any value, in either order") {
  for (const char* order : {"False", "True"}) {
    const std::string header = std::string("{'descr': '<f4', 'fortran_order': ") + order +
                               ", 'shape': (9223372036854775807, 9223372036854775807, 0)}";
    const Result<NpyArray> parsed = parse_npy(with_header(header));
    REQUIRE(parsed.is_ok());
    CHECK(parsed.value().count() == 0);
  }
}

TEST_CASE("quotes, blanks and the order of fields do not matter") {
  const std::string header = "{\"shape\" : ( 2 ,), 'fortran_order':True,'descr': \"|u1\"} \n";
  const Result<NpyArray> parsed = parse_npy(with_header(header, "ab"));
  REQUIRE(parsed.is_ok());
  CHECK(npy_array_text(parsed.value()) == "uint8 [2]");
}

TEST_CASE("arrays of NumPy that hold no plain numbers are refused") {
  check_refused(file("big_endian.npy"), "descr: expected little-endian items, found >f4");
  check_refused(file("objects.npy"), "descr: expected numbers, not Python's objects, found |O");
  check_refused(file("structured.npy"), "descr: expected one type, such as '<f4', found [('a'");
  check_refused(with_header("{'descr': '<c8', 'fortran_order': False, 'shape': (), }"),
                "descr: expected bool, uint8, ");
}

TEST_CASE("an array cut short at any byte is refused, and so is one with a byte more") {
  const std::string whole = file("floats.npy");
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(!parse_npy(whole.substr(0, size)).is_ok());
  check_refused("", "expected the npy format");
  check_refused(whole.substr(0, 9), "header: expected it whole");
  check_refused(whole.substr(0, whole.size() - 1),
                "items: expected 24 bytes for float32 [2, 3], found 23");
  check_refused(whole + "x", "items: expected 24 bytes for float32 [2, 3], found 25");
}

TEST_CASE("each part of a header is checked") {
  check_refused("\x93NUMPY\x03", "version: expected 1.0 or 2.0");
  check_refused(with_header("[]"), "header: expected a dict, found []");
  check_refused(with_header("{'descr': '<f4', 'fortran_order': False, }"),
                "shape: expected it in the header, found none");
  check_refused(with_header("{'shape': (), 'shape': ()}"), "shape: expected it once");
  check_refused(with_header("{'shape': (-1,)}"), "shape: expected sizes from 0 to 2^63 - 1");
  check_refused(with_header("{'shape': (2 3)}"), "shape: expected a comma or )");
  check_refused(with_header("{'shape': 2}"), "shape: expected a tuple, found 2}");
  check_refused(with_header("{'fortran_order': 1}"), "fortran_order: expected True or False");
  check_refused(with_header("{'depth': 1}"), "expected descr, fortran_order and shape");
  check_refused(with_header("{'descr': '<U0'}"), "descr: expected 1 to ");
  check_refused(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "1234"),
                "header: expected nothing after the dict");
}

TEST_CASE("sizes whose product is no number of 64 bits are refused") {
  const std::string sizes = "(4294967296, 4294967296, 2)";
  check_refused(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + sizes + "}"),
                "items: expected 2^63 or more bytes");
  check_refused(with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (9999999999,)}"),
                "items: expected 39999999996 bytes for float32 [9999999999], found 0");
}

}  // namespace
}  // namespace recto::verify
