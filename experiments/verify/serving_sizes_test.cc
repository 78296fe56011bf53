// A kernel that is wrong only at serving sizes fails in the default run, and its cases are shrunk
// in bounded time. All faults but one are planted only under --config=full.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

const std::string kLibrary = "experiments/verify/liblarge_faults.so";

Json verify(const char* fault, std::vector<std::string> arguments) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / fault;
  setenv("RECTO_TEST_FAULT", fault, 1);
  arguments.insert(arguments.begin(), {"verify", "--kernel", kLibrary, "--json", "--out", folder});
  const auto tried = testing::try_command(verify_command, std::move(arguments));
  unsetenv("RECTO_TEST_FAULT");
  INFO(tried.err);
  CHECK(tried.exit_code <= 1);
  return parse_json(tried.out).value();
}

// Runs a pass through all kinds of serving size, with more cases of a few: less than a default run.
Json verify_decode(const char* fault) {
  return verify(fault, {"--law", "oracle", "--backend", "decode", "--cases", "66"});
}

Json verify_prefill(const char* fault) {
  return verify(fault, {"--law", "oracle", "--backend", "prefill", "--cases", "84"});
}

// The same without slow cases, for faults that need no such sizes.
Json verify_narrow(const char* fault, const char* backend) {
  return verify(fault, {"--law", "oracle", "--backend", backend, "--cases", "84", "--rows-max",
                        "64", "--q-heads-max", "8", "--sequences-max", "64"});
}

std::int64_t failed_of_oracle(const Json& json) {
  std::int64_t failed = 0;
  for (const Json& count : json["counts"])
    if (count["law"] == "oracle") failed += count["failed"].get<std::int64_t>();
  return failed;
}

TEST_CASE("kernels wrong beyond 512 keys, 32 sequences or four KV heads are caught", "[.full]") {
  for (const char* fault : {"context:512", "sequence:32", "head:4"}) {
    CAPTURE(fault);
    const Json json = verify(fault, {"--law", "oracle", "--backend", "decode"});
    CHECK(json["cases_of_serving_size"] == 40);
    CHECK(failed_of_oracle(json) >= 2);
    CHECK_FALSE(json["failures"].empty());
  }
}

TEST_CASE("faults in wide groups, many heads, many sequences and large blocks are caught",
          "[.full]") {
  for (const char* fault : {"group:16", "q-head:64", "sequence:64", "block:256"}) {
    CAPTURE(fault);
    const Json json = verify_decode(fault);
    CHECK(failed_of_oracle(json) >= 2);
    CHECK_FALSE(json["failures"].empty());
  }
}

TEST_CASE("a kernel wrong beyond groups of 8 is caught, with a reduced case of a group of 9",
          "[.full]") {
  const Json json = verify("group:8", {"--law", "oracle"});
  CHECK(failed_of_oracle(json) >= 2);
  REQUIRE_FALSE(json["failures"].empty());
  const auto file = json["failures"][0]["file"].get<std::string>();
  const Json saved = parse_json(read_text_file(file).value()).value();
  CHECK(saved["case"]["shape"]["num_q_heads"] == 9);
  CHECK(saved["case"]["shape"]["num_kv_heads"] == 1);
}

TEST_CASE("faults in KV heads beyond 640 keys, in heads of wide groups and in sinks are caught",
          "[.full]") {
  for (const char* fault : {"kv-context:640", "group:64", "sink:512"}) {
    CAPTURE(fault);
    CHECK(failed_of_oracle(verify_decode(fault)) >= 1);
  }
}

TEST_CASE("faults in chunks of prompts alone are caught", "[.full]") {
  for (const char* fault :
       {"chunk:12", "later-row:16", "batch-row:128", "group-row:64", "row:256", "prefix:256"}) {
    CAPTURE(fault);
    CHECK(failed_of_oracle(verify_prefill(fault)) >= 1);
  }
}

TEST_CASE("faults in rows behind long contexts or empty sequences, and in windows, are caught",
          "[.full]") {
  for (const char* fault :
       {"late-row:1280", "draft-row:1280", "late-window:1280", "after-empty:12"}) {
    CAPTURE(fault);
    CHECK(failed_of_oracle(verify_narrow(fault, "prefill")) >= 1);
  }
}

TEST_CASE("windows that begin at a wrong block or split beyond 2048 keys alone are caught",
          "[.full]") {
  for (const char* fault : {"window:2048", "split-window:2048"}) {
    CAPTURE(fault);
    CHECK(failed_of_oracle(verify_narrow(fault, "decode")) >= 1);
  }
}

TEST_CASE("a running maximum that begins at -5000 behind 512 keys alone is caught") {
  CHECK(failed_of_oracle(verify_narrow("low:512", "decode")) >= 1);
}

TEST_CASE("splits of 512 keys merged by a wrong maximum, or left out if lower, are caught",
          "[.full]") {
  for (const char* fault : {"maximum:512", "skip:512"}) {
    for (const char* backend : {"decode", "prefill"}) {
      CAPTURE(fault, backend);
      CHECK(failed_of_oracle(verify_narrow(fault, backend)) >= 1);
    }
  }
}

TEST_CASE("kernels that lose dims beyond a multiple of 16, or the scale's sign, are caught",
          "[.full]") {
  for (const char* fault : {"head-dim:32", "scale:256"}) {
    for (const char* backend : {"decode", "prefill"}) {
      CAPTURE(fault, backend);
      CHECK(failed_of_oracle(verify_narrow(fault, backend)) >= 1);
    }
  }
}

// Without sizes at which attention is slow.
Json verify_write(const char* fault) {
  return verify(fault, {"--cases", "45", "--context-max", "300", "--rows-max", "16",
                        "--sequences-max", "8", "--q-heads-max", "32"});
}

TEST_CASE("faults of a library that only writes K and V are caught at serving sizes", "[.full]") {
  for (const char* fault : {"write-head:8", "write-token:1024", "write-block:256"}) {
    CAPTURE(fault);
    const Json json = verify_write(fault);
    CHECK(json["backends"].size() == 1);
    CHECK(json["cases_of_serving_size"] == 15);
    CHECK(json["failed"].get<int>() >= 1);
  }
  const Json right = verify_write("write-none");
  CHECK(right["failed"] == 0);
  const Json& sizes = right["sizes"]["large-faults kv_write"];
  CHECK(sizes["KV heads"][1].get<int>() > 16);
  CHECK(sizes["block sizes"].back() == 512);
}

TEST_CASE("the law of chunking sees rows beyond a tile of 16", "[.full]") {
  for (const char* fault : {"later-row:16", "chunk:12"}) {
    CAPTURE(fault);
    const Json json = verify(fault, {"--law", "chunking", "--backend", "prefill"});
    CHECK(json["failed"].get<int>() >= 1);
  }
}

TEST_CASE("a wrong stride of the table's rows is caught behind 512 keys, whatever the seed",
          "[.full]") {
  for (const char* seed : {"2026", "7"}) {
    CAPTURE(seed);
    const Json json =
        verify("stride:512", {"--law", "oracle", "--backend", "decode", "--seed", seed});
    CHECK(failed_of_oracle(json) >= 1);
  }
}

TEST_CASE("the kernels without a fault pass, and JSON has the sizes that were tried", "[.full]") {
  const Json json = verify("none", {"--law", "oracle"});
  CHECK(json["failed"] == 0);
  const Json& sizes = json["sizes"]["large-faults prefill"];
  CHECK(sizes["context"][1].get<int>() > 2048);
  CHECK(sizes["rows"][1].get<int>() > 256);
  CHECK(sizes["sequences"][1].get<int>() > 128);
  CHECK(sizes["q heads"][1].get<int>() > 64);
  CHECK(sizes["KV heads"][1].get<int>() > 16);
  CHECK(sizes["head dims"].size() > 20);
  CHECK(sizes["head dims"].back() == 256);
  CHECK(sizes["groups"].back().get<int>() > 64);
  CHECK(sizes["block sizes"].back() == 512);
}

TEST_CASE("the flags --sequences-max and --q-heads-max limit drawn cases, and JSON has them") {
  const Json json = verify("sequence:32", {"--law", "oracle", "--sequences-max", "32",
                                           "--q-heads-max", "8", "--cases", "40"});
  CHECK(json["failed"] == 0);
  CHECK(json["sequences_max"] == 32);
  CHECK(json["q_heads_max"] == 8);
  const Json& sizes = json["sizes"]["large-faults decode"];
  CHECK(sizes["sequences"][1] == 32);
  CHECK(sizes["q heads"][1] == 8);
  CHECK(sizes["groups"].back() == 8);
}

TEST_CASE("wider batches and more heads are drawn if they are asked for", "[.full]") {
  const Json wider = verify("none", {"--law", "oracle", "--sequences-max", "600", "--q-heads-max",
                                     "200", "--backend", "decode", "--cases", "66"});
  CHECK(wider["failed"] == 0);
  CHECK(wider["sizes"]["large-faults decode"]["sequences"][1].get<int>() > 256);
}

TEST_CASE("a kernel wrong beyond 512 keys passes within 512, and JSON has the longest context",
          "[.full]") {
  const Json json =
      verify("context:512", {"--law", "oracle", "--context-max", "512", "--cases", "60"});
  CHECK(json["failed"] == 0);
  CHECK(json["context_max"] == 512);
  CHECK(json["sizes"]["large-faults decode"]["context"][1].get<int>() <= 512);
}

}  // namespace
}  // namespace recto::experiments
