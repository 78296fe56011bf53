#include "experiments/support/command.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/cases/case_folder.h"
#include "experiments/check/answered_folder.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/cases/npz/npy_format.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::TriedCommand;
using verify::NpyArray;
using verify::NpyType;
using verify::NpzArrays;

void set_item(NpyArray& array, std::int64_t index, float value) {
  std::memcpy(array.data.data() + index * array.item_bytes, &value, sizeof value);
}

TEST_CASE("right answers pass, and no case is saved") {
  const AnsweredFolder folder;
  const TriedCommand tried = folder.check();
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("6 cases of " + folder.path + ", probabilistic bounds"));
  CHECK(!std::filesystem::exists(folder.kept));
  CHECK(folder.check({"--bound", "worst-case"}).exit_code == 0);
}

TEST_CASE("a wrong element is named, kept and replayed, and the others are right") {
  const AnsweredFolder folder({"--cases", "6", "--op", "decode", "--type", "fp32"});
  NpzArrays answer = folder.right(folder.files[1]);
  set_item(answer.at("out"), 0, 1e20F);
  folder.answer(folder.files[1], answer);
  const TriedCommand tried = folder.check();
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  const std::string kept = folder.kept + "/decode-02.json";
  CHECK_THAT(tried.err, ContainsSubstring("1 of 6 cases are wrong; first: " + kept));
  CHECK_THAT(tried.out, ContainsSubstring("decode-02 is wrong: " + folder.path));
  CHECK_THAT(tried.out, ContainsSubstring("first out[sequence 0, row 0, head 0, dim 0]"));
  CHECK_THAT(tried.out, ContainsSubstring("recto replay '" + kept + "'"));
  const TriedCommand again = testing::try_command(replay_command, {"replay", kept});
  INFO(again.out << again.err);
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.out, ContainsSubstring("decode-02.out.npz, probabilistic bounds"));
  CHECK_THAT(again.out, ContainsSubstring("diagnosis  unknown: outputs are wrong; results"));
  // The same case, on a backend that is right, and with an answer that is.
  CHECK(
      testing::try_command(replay_command, {"replay", kept, "--backend", "naive-fp64"}).exit_code ==
      0);
  folder.answer(folder.files[1], folder.right(folder.files[1]));
  CHECK(testing::try_command(replay_command, {"replay", kept}).exit_code == 0);
}

TEST_CASE("a known fault is named from outputs alone, and from lse_ln where that is wrong") {
  const AnsweredFolder folder({"--cases", "1", "--op", "decode", "--type", "fp32"});
  const NpzArrays arrays = folder.arrays_of(folder.files[0]);
  NpzArrays answer = folder.right(folder.files[0]);
  NpyArray& lse_ln = answer["lse_ln"] = arrays.at("expected_lse_ln");
  CHECK(folder.check().exit_code == 0);
  for (std::int64_t i = 0; i < lse_ln.count(); ++i) {
    const double base2 = lse_ln.at<double>(i) / std::log(2.0);
    std::memcpy(lse_ln.data.data() + i * 8, &base2, sizeof base2);
  }
  folder.answer(folder.files[0], answer);
  CHECK(folder.check().exit_code == 1);
  const std::string kept = folder.kept + "/decode-01.json";
  const TriedCommand replayed = testing::try_command(replay_command, {"replay", kept});
  INFO(replayed.out);
  CHECK_THAT(replayed.out, ContainsSubstring("diagnosis  scores: lse_ln is "));
  CHECK_THAT(replayed.out, ContainsSubstring("the lse is a logarithm of base 2"));
}

TEST_CASE("declared numerics allow for what their rounding adds, here and in a replay") {
  const AnsweredFolder folder({"--cases", "1", "--op", "decode", "--type", "fp16"});
  const NpzArrays arrays = folder.arrays_of(folder.files[0]);
  NpzArrays answer = folder.right(folder.files[0]);
  NpyArray& out = answer.at("out");
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const double beyond = 1.5 * arrays.at("bound").at<double>(i);
    set_item(out, i, static_cast<float>(arrays.at("expected").at<double>(i) + beyond));
  }
  folder.answer(folder.files[0], answer);
  CHECK(folder.check().exit_code == 1);
  const std::string coarse = "p=bf16,products=bf16,partials=bf16,accumulate=bf16";
  CHECK(folder.check({"--numerics", coarse}).exit_code == 0);
  const TriedCommand declared = folder.check({"--numerics", "exp=exact,sum=unrounded,p=fp16"});
  CHECK(declared.exit_code == 1);
  const std::string kept = folder.kept + "/decode-01.json";
  CHECK_THAT(declared.out, ContainsSubstring("recto replay '" + kept +
                                             "' --numerics p=fp16,exp=exact,sum=unrounded"));
  CHECK(testing::try_command(replay_command, {"replay", kept}).exit_code == 1);
  CHECK(testing::try_command(replay_command, {"replay", kept, "--numerics", coarse}).exit_code ==
        0);
}

TEST_CASE("a case with a reason to skip is skipped, and a check that skips every case fails") {
  const AnsweredFolder folder({"--cases", "3", "--op", "decode", "--type", "fp32"});
  folder.remove(folder.files[0].name + ".out.npz");
  folder.write(folder.files[0].name + ".skip.txt", "head dims beyond 256\n");
  const TriedCommand tried = folder.check();
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("skipped, and why:\n  1 x head dims beyond 256\n"));
  CHECK_THAT(folder.check({"--json"}).out,
             ContainsSubstring("\"reason\": \"head dims beyond 256\""));
  folder.write(folder.files[0].name + ".skip.txt", " \n");
  folder.check_refused("decode-01.skip.txt: expected a reason, found no text");
  folder.write(folder.files[1].name + ".skip.txt", "as well");
  folder.write(folder.files[0].name + ".skip.txt", "too");
  folder.check_refused("expected one answer, found");
  for (const CaseFile& file : folder.files) {
    folder.remove(file.name + ".out.npz");
    folder.write(file.name + ".skip.txt", "too");
  }
  const TriedCommand nothing = folder.check();
  CHECK(nothing.exit_code == 1);
  CHECK_THAT(nothing.err, ContainsSubstring("every case was skipped"));
}

TEST_CASE("a token in a wrong slot is reported with block and slot, by check and by replay") {
  const AnsweredFolder folder({"--cases", "2", "--op", "kv_write", "--type", "fp32"});
  NpzArrays answer = folder.right(folder.files[0]);
  answer.at("v_cache").data[0] ^= std::byte{1};
  folder.answer(folder.files[0], answer);
  const TriedCommand tried = folder.check();
  CHECK(tried.exit_code == 1);
  const std::string where = "1 code of the pool of V is wrong, first in block 0, slot 0, head 0";
  CHECK_THAT(tried.out, ContainsSubstring(where));
  const TriedCommand again =
      testing::try_command(replay_command, {"replay", folder.kept + "/kv_write-01.json"});
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.out, ContainsSubstring(where));
}

TEST_CASE("a case without an answer is counted and named, and the check fails") {
  const AnsweredFolder folder;
  folder.remove(folder.files[2].name + ".out.npz");
  const TriedCommand tried = folder.check();
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring("0 of 6 cases are wrong, and 1 are not answered"));
  CHECK_THAT(tried.out, ContainsSubstring("without an answer, NAME.out.npy or NAME.out.npz:\n  " +
                                          folder.files[2].name));
}

TEST_CASE("a malformed answer, or one of another shape or type, fails with what was expected") {
  const AnsweredFolder folder;
  const std::string whole = folder.read(folder.files.front().name + ".out.npz");
  const NpyArray out = folder.right(folder.files.front()).at("out");
  folder.check_wrong(".out.npz", whole.substr(0, whole.size() / 2), "expected an npz, which is a");
  folder.check_wrong(".out.npy", "0.1 0.2 0.3\n", "expected the npy format, which begins with");
  folder.check_wrong(".out.npy", "", "expected the npy format, which begins with");
  NpyArray other = out;
  other.shape.insert(other.shape.begin(), 1);
  folder.check_wrong(".out.npy", npy_bytes(other), "found float32 [1, ");
  other = make_npy_array(NpyType::kFloat64, out.shape,
                         std::vector<double>(static_cast<std::size_t>(out.count())));
  folder.check_wrong(".out.npy", npy_bytes(other), "found float64 [");
  other = out;
  set_item(other, 0, NAN);
  folder.check_wrong(".out.npy", npy_bytes(other), "seen nan");
}

TEST_CASE("JSON has each case with its state") {
  const AnsweredFolder folder;
  NpzArrays answer = folder.right(folder.files[0]);
  set_item(answer.at("out"), 0, NAN);
  folder.answer(folder.files[0], answer);
  folder.remove(folder.files[1].name + ".out.npz");
  const TriedCommand tried = folder.check({"--json"});
  CHECK(tried.exit_code == 1);
  const auto json = parse_json(tried.out).value();
  CHECK(json["cases"] == 6);
  CHECK(json["right"] == 4);
  CHECK(json["wrong"] == 1);
  CHECK(json["missing"] == 1);
  CHECK(json["answers"][0]["state"] == "wrong");
  CHECK(json["answers"][0]["worst_error_to_bound"] == "infinite");
  CHECK(json["answers"][1]["state"] == "missing");
  CHECK(json["answers"][2]["state"] == "right");
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = testing::try_command(check_command, {"check", "--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"DIR", "--bound", "--failures", "--out", "--json", "Examples:"})
    CHECK_THAT(tried.out, ContainsSubstring(part));
}

}  // namespace
}  // namespace recto::experiments
