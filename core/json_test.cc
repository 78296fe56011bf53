// Tests of JSON values (construction, reading, comparison) and of texts: printing any bytes, and
// the error messages for texts that are not JSON.

#include "core/json.h"

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

std::string nested(std::size_t levels, const std::string& innermost) {
  return std::string(levels, '[') + innermost + std::string(levels, ']');
}

TEST_CASE("a list of pairs that begin with a text is an object, any other an array") {
  CHECK(json_text({{"a", 1}, {"b", {{"c", nullptr}}}}) == R"({"a":1,"b":{"c":null}})");
  CHECK(json_text({{"a", {1, 2}}, {"b", {"x", "y"}}}) == R"({"a":[1,2],"b":["x","y"]})");
  CHECK(json_text({{"a", 1}, {2, "b"}}) == R"([["a",1],[2,"b"]])");
  CHECK(json_text({{"a", 1}, {"b", 2, 3}}) == R"([["a",1],["b",2,3]])");
  CHECK(json_text({1, "a", true}) == R"([1,"a",true])");
  CHECK(json_text(Json::array({{"a", 1}})) == R"([["a",1]])");
  CHECK(json_text(Json::array()) == "[]");
  CHECK(json_text(Json::object()) == "{}");
}

TEST_CASE("containers become arrays, and maps from texts objects") {
  CHECK(json_text(std::vector<double>{0.5, 1}) == "[0.5,1.0]");
  CHECK(json_text(std::set<std::string>{"b", "a"}) == R"(["a","b"])");
  CHECK(json_text(std::map<std::string, int>{{"b", 1}, {"a", 2}}) == R"({"a":2,"b":1})");
  CHECK(json_text(std::vector<std::vector<int>>{{1}, {}}) == "[[1],[]]");
}

TEST_CASE("numbers are printed without loss, and infinity as null") {
  CHECK(json_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(json_text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(json_text({1.0, 0.1, 1e300, 0.1F}) == "[1.0,0.1,1e+300,0.10000000149011612]");
  CHECK(json_text(std::numeric_limits<double>::infinity()) == "null");
  CHECK(json_text({true, 'a'}) == "[true,97]");
}

TEST_CASE("values are read as their own type, and numbers as any numeric type") {
  const Json json = {{"number", 7}, {"text", "x"}, {"list", {1, 2.5}}};
  CHECK(json["number"].get<double>() == 7);
  CHECK(json["number"].get<std::uint8_t>() == 7);
  CHECK(json["list"].get<std::vector<int>>() == std::vector<int>{1, 2});
  CHECK(json["list"].back() == 2.5);
  CHECK_THROWS_AS(json["text"].get<int>(), ContractFailure);
  CHECK_THROWS_AS(json["number"].get<bool>(), ContractFailure);
  CHECK_THROWS_AS(json["number"].get<std::string>(), ContractFailure);
  CHECK_THROWS_AS(json["list"][2], ContractFailure);
  CHECK_THROWS_AS(json["none"], ContractFailure);
  CHECK_THROWS_AS(json.begin(), ContractFailure);
  CHECK_THROWS_AS(json["list"].items(), ContractFailure);
}

TEST_CASE("members and items are found, set, added and taken away") {
  Json json;
  CHECK(json.empty());
  json["b"] = 1;
  json["a"]["deep"] = {2, 3};
  json["a"]["list"].push_back("x");
  CHECK(json_text(json) == R"({"b":1,"a":{"deep":[2,3],"list":["x"]}})");
  CHECK(json.find("c") == nullptr);
  CHECK(json.value("c", 5) == 5);
  CHECK(json.value("b", 5) == 1);
  json.update({{"c", nullptr}, {"b", "new"}});
  json["a"].erase("deep");
  json.erase("none");
  CHECK(json_text(json) == R"({"b":"new","a":{"list":["x"]},"c":null})");
  CHECK(json.size() == 3);
  CHECK_FALSE(Json(3).contains("b"));
  for (Json& item : json["a"]["list"]) item = 4;
  CHECK(json["a"]["list"][0] == 4);
}

TEST_CASE("a copy is independent, and a value may be assigned a part of itself") {
  Json json = {{"a", {1, "x"}}};
  Json copy = json;
  copy["a"][1] = "y";
  CHECK(json["a"][1] == "x");
  const Json moved = std::move(copy);
  CHECK(moved["a"][1] == "y");
  json = json["a"];  // a part of itself
  CHECK(json == Json({1, "x"}));
}

TEST_CASE("numbers are equal by value, objects in the order of their members") {
  CHECK(Json(7) == Json(std::uint64_t{7}));
  CHECK(Json(7) == Json(7.0));
  CHECK(Json(-1) != Json(std::numeric_limits<std::uint64_t>::max()));
  CHECK(Json(1) != Json(true));
  CHECK(Json("1") != Json(1));
  CHECK(Json() == nullptr);
  CHECK(Json{{"a", 1}, {"b", 2}} == Json{{"a", 1.0}, {"b", 2}});
  CHECK(Json{{"a", 1}, {"b", 2}} != Json{{"b", 2}, {"a", 1}});
}

TEST_CASE("bytes that are not UTF-8 become U+FFFD, in values and in names") {
  CHECK(json_text(Json("a\xff.csv")) == "\"a\xef\xbf\xbd.csv\"");
  CHECK(json_text(Json{{"\xc3(", 1}}) == "{\"\xef\xbf\xbd(\":1}");
  // A truncated UTF-8 character.
  CHECK(json_text(Json("ab\xe2\x82")) == "\"ab\xef\xbf\xbd\"");
}

TEST_CASE("printed text is parsed and printed again unchanged") {
  const std::string text = json_text(Json{{"path", "\xff\xfe/\xc3\xa9"}}, 2);
  const Json read = parse_json(text).value();
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
}

TEST_CASE("parsed numbers keep their kind: unsigned, signed or floating point") {
  const Json json =
      parse_json(R"([0, -0, 18446744073709551615, 18446744073709551616, 1e2])").value();
  CHECK(json[0].is_number_unsigned());
  CHECK((json[1].is_number_integer() && !json[1].is_number_unsigned()));
  CHECK(json[2].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK(json[3].is_number_float());
  CHECK(json_text(json) == "[0,0,18446744073709551615,1.8446744073709552e+19,100.0]");
}

TEST_CASE("a text that is no JSON is refused, with its line") {
  const auto message = [](std::string_view text) { return parse_json(text).status().message(); };
  CHECK(message("[1,\n 2]") == "");
  CHECK(message("\xEF\xBB\xBF[1,\n 2]") == "");
  CHECK(message("[1,\n 2") == "line 2: expected JSON; the text ends early");
  CHECK(message("") == "line 1: expected JSON; the text ends early");
  CHECK(message("[1,\n 2}\n]") == "line 2: expected JSON");
  CHECK(message("[\n\"a\n\"]") == "line 2: expected JSON");
  CHECK(message("[1]\n[2]") == "line 2: expected JSON");
  CHECK(message("\n[\"\xff\"]") == "line 2: expected JSON");
  CHECK(message("[1e308]") == "");
  CHECK(message("[1e999]") == "expected numbers within the range of a double");
  CHECK(read_json("[\n1e999,\n0]").line == 2);
}

TEST_CASE("repeated keys are reported with the path of their object, and the last value counts") {
  const JsonReading reading =
      read_json(R"({"a": 1, "b": [{}, {"c": 2, "d": 3, "c": 4}], "a": 5, "": 6, "": 7})");
  CHECK(json_text(reading.json) == R"({"a":5,"b":[{},{"c":4,"d":3}],"":7})");
  REQUIRE(reading.repeated.size() == 3);
  CHECK(reading.repeated[0].object == "b[1]");
  CHECK(reading.repeated[0].key == "c");
  CHECK(reading.repeated[0].path() == "b[1].c");
  CHECK(reading.repeated[1].path() == "a");
  CHECK(reading.repeated[2].path() == "''");
}

TEST_CASE("values nested too deep are left out, and no others") {
  CHECK(parse_json(nested(kJsonNestingMax - 1, "1,[],2")).value() ==
        parse_json(nested(kJsonNestingMax - 1, "1,[3],2")).value());
  CHECK(json_text(parse_json(nested(kJsonNestingMax, "1,{\"a\":[2]},[],3")).value()) ==
        nested(kJsonNestingMax, ""));
  const std::string text = R"([{"a": )" + nested(200'000, "") + R"(, "b": 1}, 2])";
  const Json json = parse_json(text).value();
  CHECK(json_text(json[0]["a"]) == nested(kJsonNestingMax - 2, ""));
  CHECK(json[0]["b"] == 1);
  CHECK(json[1] == 2);
}

TEST_CASE("many members and items are read and printed in time that grows with them") {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":[0.5]";
  text += "}";
  CHECK(json_text(parse_json(text).value()) == text);
}

}  // namespace
}  // namespace recto
