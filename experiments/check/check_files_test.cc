// Wrong or special files: messages name each, with what was expected, and the command waits for
// none.

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/check/answered_folder.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::TriedCommand;
using verify::NpzArrays;

TEST_CASE("an answer that is a pipe, a folder or a device is wrong, and nothing waits for it") {
  const AnsweredFolder folder({"--cases", "2", "--op", "decode"});
  const std::string name = folder.files[0].name + ".out.npy";
  const std::string path = (std::filesystem::path(folder.path) / name).string();
  folder.remove(folder.files[0].name + ".out.npz");
  const auto check_told = [&](const std::string& what) {
    const TriedCommand tried = folder.check();
    CHECK(tried.exit_code == 1);
    CHECK_THAT(tried.out, ContainsSubstring(path + ": " + what));
    std::filesystem::remove(path);
  };
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  check_told("expected a file, found a named pipe");
  std::filesystem::create_directory(path);
  check_told("Is a directory");
  std::filesystem::create_symlink("/dev/zero", path);
  check_told("expected a file, found a device");
  const std::string manifest = case_manifest_path(folder.path);
  std::filesystem::remove(manifest);
  REQUIRE(mkfifo(manifest.c_str(), 0600) == 0);
  folder.check_refused(manifest + ": expected a file, found a named pipe");
}

TEST_CASE("a case file that was changed or removed ends the check by name") {
  const AnsweredFolder folder;
  const std::string name = folder.files[1].name + ".npz";
  const std::string path = (std::filesystem::path(folder.path) / name).string();
  const std::string whole = folder.read(name);
  folder.write(name, whole.substr(0, whole.size() - 1));
  folder.check_refused(path + ": expected an npz, which is a zip archive");
  NpzArrays arrays = verify::parse_npz(whole, AnsweredFolder::kRoom).value();
  std::vector<verify::NpzMember> members;
  for (auto& [member, array] : arrays) {
    if (member == "bound") array.data.assign(array.data.size(), std::byte{0x7f});
    members.push_back({member, array});
  }
  folder.write(name, npz_bytes(members).value());
  folder.check_refused(path + ": expected the file as it was written; it was changed");
  for (verify::NpzMember& member : members)
    if (member.name == "k_cache") member.array.data[0] ^= std::byte{1};
  folder.write(name, npz_bytes(members).value());
  folder.check_refused(path + ": k_cache: expected the arrays that this recto writes");
  folder.remove(name);
  folder.check_refused(path + ": No such file or directory");
}

TEST_CASE("a folder without a manifest or with two answers, and a missing folder, are bad input") {
  const AnsweredFolder folder;
  folder.write(folder.files[0].name + ".out.npy", "");
  folder.check_refused(": expected one answer, found ");
  std::filesystem::remove(case_manifest_path(folder.path));
  folder.check_refused(folder.path + ": expected a folder that recto cases --out DIR wrote");
  folder.check_refused("; found no cases.json in it");
  const auto tried = [](const std::string& path) {
    return testing::try_command(check_command, {"check", path});
  };
  CHECK_THAT(
      tried("nowhere").err,
      ContainsSubstring("nowhere: No such folder; expected a folder that recto cases --out"));
  CHECK(tried("nowhere").exit_code == 2);
  CHECK_THAT(tried("/dev/null").err, ContainsSubstring("NAME.out.npz beside it; found no folder"));
  const std::string empty = folder.path + "/empty";
  std::filesystem::create_directory(empty);
  CHECK_THAT(tried(empty).err,
             ContainsSubstring("cases.json, a NAME.npz for each case, and your program's "
                               "NAME.out.npy or NAME.out.npz beside it; found an empty folder"));
  CHECK(tried("").exit_code == 2);
  CHECK(testing::try_command(check_command, {"check"}).exit_code == 2);
}

TEST_CASE("a place where failing cases cannot be kept is refused before anything is judged") {
  const AnsweredFolder folder({"--cases", "2"});
  const TriedCommand tried =
      testing::try_command(check_command, {"check", folder.path, "--out", "/dev/null"});
  CHECK(tried.exit_code == 2);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, ContainsSubstring("--out: /dev/null: cannot make this folder"));
}

}  // namespace
}  // namespace recto::experiments
