#include "experiments/support/manifest.h"

#include <cstdlib>
#include <string>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

TEST_CASE("each input file is listed once, with its hash") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/trace.csv";
  REQUIRE(write_file(path, "abc").is_ok());
  RunConfig config;
  config.trace = path;
  const auto manifest = begin_manifest("test", {config, config});
  REQUIRE(manifest.is_ok());
  REQUIRE(manifest.value()["inputs"].size() == 1);
  const Json& input = manifest.value()["inputs"][0];
  CHECK(input["bytes"] == 3);
  // As `printf abc | xxhsum -H2` prints it.
  CHECK(input["xxh3_128"] == "06b05ab6733a618578af5f94892f3950");
  CHECK(input["xxh3_128"] == content_hash("abc"));
  CHECK(manifest.value()["recto"]["version"].is_string());
  CHECK(manifest.value()["recto"]["commit"].is_string());
}

TEST_CASE("a missing input file is an error") {
  RunConfig config;
  config.time_model = "linear:/nowhere.json";
  CHECK(begin_manifest("test", {config}).status().code() == StatusCode::kInvalidInput);
}

TEST_CASE("written files are checked against the hashes in the manifest") {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string folder = (root == nullptr ? std::string("/tmp") : root) + std::string("/sweep");
  REQUIRE(make_folder(folder).is_ok());
  REQUIRE(write_file(folder + "/sweep.csv", "a,b\n").is_ok());
  Json manifest{{"command", "sweep"}, {"files", {{"sweep.csv", written_file("a,b\n")}}}};
  CHECK(check_written_files(folder, manifest).is_ok());
  REQUIRE(write_file(folder + "/sweep.csv", "a,c\n").is_ok());
  CHECK(check_written_files(folder, manifest).message() ==
        folder + "/sweep.csv: does not match manifest.json; expected both from one run");
  manifest.erase("files");
  CHECK(check_written_files(folder, manifest).message() ==
        folder +
            "/manifest.json, files: found no sweep.csv; expected its hash, which recto sweep "
            "writes; run it again");
  manifest["command"] = "simulate";
  CHECK(check_written_files(folder, manifest).is_ok());
}

}  // namespace
}  // namespace recto::experiments
