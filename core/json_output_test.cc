// Texts of any bytes, and what is left as it is.

#include "core/json_output.h"

#include <nlohmann/json.hpp>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("bytes that are not UTF-8 become U+FFFD, in values and in names") {
  CHECK(json_text(Json("a\xff.csv")) == "\"a\xef\xbf\xbd.csv\"");
  CHECK(json_text(Json{{"\xc3(", 1}}) == "{\"\xef\xbf\xbd(\":1}");
  // A character that is cut off.
  CHECK(json_text(Json("ab\xe2\x82")) == "\"ab\xef\xbf\xbd\"");
}

TEST_CASE("the text can be read, and is then written as it was") {
  const std::string text = json_text(Json{{"path", "\xff\xfe/\xc3\xa9"}}, 2);
  const Json read = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  REQUIRE(read.is_object());
  CHECK(json_text(read, 2) == text);
}

TEST_CASE("characters of UTF-8 stay as they are") {
  CHECK(json_text(Json("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82")) ==
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\"");
}

TEST_CASE("text is on one line, or indented; fields keep their order") {
  const Json json = {{"b", 1}, {"a", {2, 3}}};
  CHECK(json_text(json) == R"({"b":1,"a":[2,3]})");
  CHECK(json_text(json, 1) == "{\n \"b\": 1,\n \"a\": [\n  2,\n  3\n ]\n}");
  CHECK(json_text(nlohmann::json{{"b", 1}, {"a", 2}}) == R"({"a":2,"b":1})");
}

}  // namespace
}  // namespace recto
