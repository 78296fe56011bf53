#include "experiments/support/command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/cases/case_folder.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

// The path of a folder for this test only, which does not exist yet.
std::string fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / name;
  std::filesystem::remove_all(folder);
  return folder.string();
}

testing::TriedCommand cases(const std::string& folder, std::vector<std::string> flags) {
  std::vector<std::string> arguments = {"cases", "--out", folder};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return testing::try_command(cases_command, std::move(arguments));
}

std::vector<CaseFile> written(const std::string& folder, const std::vector<std::string>& flags) {
  const auto tried = cases(folder, flags);
  INFO(tried.err);
  REQUIRE(tried.exit_code == 0);
  const Result<CaseManifest> manifest = read_case_manifest(folder);
  INFO(manifest.status());
  REQUIRE(manifest.is_ok());
  return manifest.value().cases;
}

void check_refused(const std::vector<std::string>& flags, const std::string& message) {
  const std::string folder = fresh_folder("refused");
  const auto tried = cases(folder, flags);
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring(message));
  CHECK(!std::filesystem::exists(folder));
}

TEST_CASE("the default run writes cases of every operation, as its manifest says") {
  const std::string folder = fresh_folder("all of them");
  const auto tried = cases(folder, {});
  INFO(tried.err);
  REQUIRE(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("24 cases, seed 2026, "));
  CHECK_THAT(tried.out, ContainsSubstring("recto check '" + folder + "'"));
  const CaseManifest manifest = read_case_manifest(folder).value();
  std::set<verify::CaseOperation> operations;
  for (const CaseFile& file : manifest.cases) {
    CHECK(check_case_file(folder, file) == Status::ok());
    operations.insert(file.operation);
  }
  CHECK(manifest.cases.size() == 24);
  CHECK(operations.size() == 3);
  CHECK(manifest.cases.front().name == "decode-01");
  CHECK(manifest.cases.back().name == "kv_write-08");
}

TEST_CASE("equal flags give equal files, and another seed gives others") {
  const std::string one = fresh_folder("one");
  const std::string other = fresh_folder("other");
  const std::string third = fresh_folder("third");
  const std::vector<CaseFile> files = written(one, {"--cases", "6"});
  written(other, {"--cases", "6"});
  written(third, {"--cases", "6", "--seed", "7"});
  const auto bytes = [](const std::string& path) { return read_text_file(path).value(); };
  CHECK(bytes(case_manifest_path(one)) == bytes(case_manifest_path(other)));
  for (const CaseFile& file : files) {
    CHECK(bytes(case_path(one, file)) == bytes(case_path(other, file)));
    CHECK(bytes(case_path(one, file)) != bytes(case_path(third, file)));
  }
}

TEST_CASE("every case meets the restrictions that flags name") {
  const std::vector<CaseFile> files =
      written(fresh_folder("narrow"),
              {"--op", "decode", "--type", "bf16", "--head-dim", "64", "--group", "4",
               "--block-size", "16", "--layout", "head-major", "--context-max", "40", "--without",
               "softcap,window,alibi,sinks,non-causal", "--cases", "20"});
  for (const CaseFile& file : files) {
    const verify::CaseSpec& spec = file.spec;
    INFO(spec);
    CHECK(file.operation == verify::CaseOperation::kDecode);
    CHECK(spec.types() == verify::TypePair{ElementType::kBf16, ElementType::kBf16});
    CHECK(spec.shape.head_dim_k == 64);
    CHECK(spec.shape.head_dim_v == 64);
    CHECK(spec.shape.group() == 4);
    CHECK(spec.placement.block_size == 16);
    CHECK(spec.placement.layout == KvLayout::kHeadMajor);
    CHECK(spec.longest_context() <= 40);
    CHECK(spec.options.softcap == 0.0F);
    CHECK(!spec.options.window);
    CHECK(spec.options.alibi == verify::AlibiFamily::kNone);
    CHECK(spec.options.sinks == verify::SinkFamily::kNone);
    CHECK(spec.options.causal);
    for (const verify::SequenceSpec& sequence : spec.sequences) CHECK(sequence.num_rows == 1);
  }
}

TEST_CASE("without restrictions every option is drawn") {
  const std::vector<CaseFile> files =
      written(fresh_folder("wide"), {"--op", "prefill", "--cases", is_full_run() ? "60" : "40"});
  const auto some = [&files](const auto& has) {
    return std::ranges::any_of(files, [&has](const CaseFile& file) { return has(file.spec); });
  };
  CHECK(some([](const verify::CaseSpec& spec) { return spec.options.window.has_value(); }));
  CHECK(some([](const verify::CaseSpec& spec) { return spec.options.softcap > 0.0F; }));
  CHECK(some([](const verify::CaseSpec& spec) { return !spec.options.causal; }));
  CHECK(some([](const verify::CaseSpec& spec) { return is_fp8(spec.shape.kv_type); }));
  CHECK(some([](const verify::CaseSpec& spec) { return spec.num_rows() > 1; }));
  CHECK(some([](const verify::CaseSpec& spec) { return spec.shape.head_dim_k >= 64; }));
  CHECK(some([](const verify::CaseSpec& spec) { return spec.shape.head_dim_k < 64; }));
}

TEST_CASE("one case in three is of serving size, in files of bounded size") {
  const std::string folder = fresh_folder("serving");
  const std::vector<CaseFile> files = written(folder, {"--op", "decode,prefill", "--cases", "24"});
  std::int64_t large = 0;
  const auto some = [&files](const auto& has) {
    return std::ranges::any_of(files, [&has](const CaseFile& file) { return has(file.spec); });
  };
  for (const CaseFile& file : files) {
    std::int64_t rows = 0;
    for (const verify::SequenceSpec& sequence : file.spec.sequences)
      rows = std::max(rows, sequence.num_rows);
    const bool is_small = file.spec.sequences.size() <= 3 && rows <= 80 &&
                          file.spec.longest_context() <= 160 && file.spec.shape.num_q_heads <= 128;
    large += is_small ? 0 : 1;
    CHECK(std::filesystem::file_size(case_path(folder, file)) < 32 << 20);
  }
  CHECK(large >= 6);
  CHECK(some([](const verify::CaseSpec& spec) { return spec.longest_context() > 2048; }));
  CHECK(some([](const verify::CaseSpec& spec) { return spec.num_rows() > 100; }));
}

TEST_CASE("no size of a case is beyond the limits that flags set") {
  const std::vector<CaseFile> files =
      written(fresh_folder("limits"), {"--context-max", "300", "--sequences-max", "2", "--rows-max",
                                       "5", "--q-heads-max", "6", "--cases", "18"});
  for (const CaseFile& file : files) {
    INFO(file.spec);
    CHECK(file.spec.longest_context() <= 300);
    CHECK(file.spec.sequences.size() <= 2);
    CHECK(file.spec.shape.num_q_heads <= 6);
    for (const verify::SequenceSpec& sequence : file.spec.sequences) CHECK(sequence.num_rows <= 5);
  }
}

TEST_CASE("head dims are multiples of --head-dim-multiple in the packed layout, too") {
  for (const std::int64_t multiple : {4, 24}) {
    for (const CaseFile& file :
         written(fresh_folder("packs"), {"--head-dim-multiple", std::to_string(multiple),
                                         "--layout", "packed", "--type", "bf16"})) {
      INFO(file.spec);
      CHECK(file.spec.shape.head_dim_k % multiple == 0);
      CHECK(file.spec.shape.head_dim_v % multiple == 0);
    }
  }
}

TEST_CASE("bad flags are refused by name, and no file is written") {
  check_refused({"--op", "encode"}, "--op: found 'encode'; expected one of decode, prefill");
  check_refused({"--type", "fp64"}, "--type: found 'fp64'; expected one of fp32, fp16, bf16");
  check_refused({"--type", "fp32/e4m3"}, "--type: found 'fp32/e4m3'");
  check_refused({"--layout", "nhd"}, "--layout: found 'nhd'; expected one of token-major");
  check_refused({"--head-dim", "0"}, "--head-dim: found '0'; expected integers from 1 to 1024");
  check_refused({"--head-dim", "64,,80"}, "--head-dim: ");
  check_refused({"--head-dim", "20", "--layout", "packed", "--type", "bf16"},
                "--head-dim: found 20; expected multiples of 8 for --layout packed of bf16");
  for (const char* multiple : {"3", "12"}) {
    check_refused({"--head-dim-multiple", multiple, "--layout", "packed", "--type", "bf16"},
                  "; expected a multiple or a divisor of 8 for --layout packed of bf16");
  }
  check_refused({"--block-size", "16x"}, "--block-size: found '16x'");
  for (const char* size : {"17", "24", "16,3"})
    check_refused({"--block-size", size}, "; expected powers of two and multiples of 16");
  CHECK(cases(fresh_folder("blocks"), {"--block-size", "8,48", "--cases", "2"}).exit_code == 0);
  check_refused({"--without", "masks"},
                "--without: found 'masks'; expected one of softcap, window");
  check_refused({"--cases", "0"}, "--cases: ");
  check_refused({"--context-max", "1e9"}, "--context-max: ");
  check_refused({"--rows-max", "0"}, "--rows-max: ");
  check_refused({"--seed", "-1"}, "--seed: found '-1'");
  check_refused({"--cases", "10000", "--context-max", "4096", "--head-dim", "1024", "--group", "64",
                 "--op", "prefill"},
                "take 4 GiB already; expected fewer, or smaller ones");
}

TEST_CASE("an output folder that is not empty, is a file or is not given is refused") {
  const std::string folder = fresh_folder("taken");
  REQUIRE(make_folder(folder).is_ok());
  CHECK(cases(folder, {"--cases", "1"}).exit_code == 0);
  const auto again = cases(folder, {"--cases", "1"});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, ContainsSubstring("--out: " + folder + ": expected an empty folder"));
  const auto on_file = cases(case_manifest_path(folder), {"--cases", "1"});
  CHECK(on_file.exit_code == 2);
  const auto nowhere = testing::try_command(cases_command, {"cases"});
  CHECK(nowhere.exit_code == 2);
  CHECK_THAT(nowhere.err, ContainsSubstring("--out"));
}

TEST_CASE("a manifest is read as it was written, and refused if it was changed") {
  const std::string folder = fresh_folder("manifest");
  written(folder, {"--cases", "3", "--op", "decode"});
  const std::string text = read_text_file(case_manifest_path(folder)).value();
  CHECK(case_manifest_text(parse_case_manifest(text).value()) == text);
  const auto refused = [&text](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return parse_case_manifest(changed.replace(at, from.size(), to)).status().message();
  };
  const std::string checksum = "checksum: expected that of the cases; they have been changed";
  CHECK(refused("\"num_rows\":1", "\"num_rows\":2") == checksum);
  const std::size_t last = text.rfind(",\n    {\"name\"");
  CHECK(refused(text.substr(last, text.find("\n  ]", last) - last), "") == checksum);
  CHECK_THAT(refused("decode-02", "../escape"),
             ContainsSubstring("cases[1].name: expected letters, digits, - and _"));
  CHECK_THAT(refused("decode-02", "decode-01"), ContainsSubstring("expected each name once"));
  CHECK_THAT(refused("\"recto_cases\": 1", "\"recto_cases\": 2"), ContainsSubstring("recto_cases"));
  CHECK_THAT(parse_case_manifest("{\"cases\": []}").status().message(),
             ContainsSubstring("recto_cases: expected an integer, found no such field"));
  CHECK_THAT(parse_case_manifest("q,k,v\n").status().message(), ContainsSubstring("line 1"));
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = testing::try_command(cases_command, {"cases", "--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"--out", "--cases", "--seed", "--op", "--type", "--layout", "--head-dim",
                           "--group", "--block-size", "--without", "--context-max",
                           "--sequences-max", "--rows-max", "--q-heads-max", "Examples:"})
    CHECK_THAT(tried.out, ContainsSubstring(part));
}

}  // namespace
}  // namespace recto::experiments
