#include "experiments/support/output_file.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// An empty folder of the test's own.
std::string fresh_folder(const std::string& name) {
  const char* base = std::getenv("TEST_TMPDIR");
  const fs::path folder =
      fs::path(base == nullptr ? fs::temp_directory_path() : fs::path(base)) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("a committed file replaces an older one, which stays until then") {
  const std::string folder = fresh_folder("commit");
  const std::string path = folder + "/a.csv";
  REQUIRE(write_file(path, "old\n").is_ok());
  auto file = OutputFile::create(path);
  REQUIRE(file.is_ok());
  file.value().write("new\n");
  CHECK(read_text_file(path).value() == "old\n");
  REQUIRE(file.value().commit().is_ok());
  CHECK(read_text_file(path).value() == "new\n");
  CHECK(entries(folder) == 1);
}

TEST_CASE("only an empty file, one of the same kind or a device may be written over") {
  const FileKind kind{.mark = "<mine>", .name = "a page of mine"};
  const std::string path = fresh_folder("kinds") + "/a.html";
  CHECK(check_overwrites_only(kind, path).is_ok());
  for (const char* text : {"", "<mine>", "<html> <mine> and more"}) {
    REQUIRE(write_file(path, text).is_ok());
    CHECK(check_overwrites_only(kind, path).is_ok());
    CHECK(is_file_of(kind, path) == !std::string(text).empty());
  }
  CHECK(check_overwrites_only(kind, "/dev/null").is_ok());
  for (const std::string& text : {std::string("x"), std::string(1024, ' ') + "<mine>"}) {
    REQUIRE(write_file(path, text).is_ok());
    const Status status = check_overwrites_only(kind, path);
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(status.message(), ContainsSubstring("is a file already, and not a page of mine"));
    CHECK(!is_file_of(kind, path));
  }
}

TEST_CASE("a file that is not committed leaves nothing") {
  const std::string folder = fresh_folder("abandon");
  {
    auto file = OutputFile::create(folder + "/a.csv");
    REQUIRE(file.is_ok());
    file.value().write(std::string(100'000, 'x'));
    CHECK(entries(folder) == 1);
  }
  CHECK(entries(folder) == 0);
}

TEST_CASE("a full disk is a failure that names the file") {
  auto file = OutputFile::create("/dev/full");
  REQUIRE(file.is_ok());
  file.value().write(std::string(1 << 20, 'x'));
  CHECK(file.value().has_failed());
  const Status status = file.value().commit();
  CHECK(status.code() == StatusCode::kFailed);
  CHECK_THAT(status.message(), ContainsSubstring("/dev/full"));
  CHECK_THAT(status.message(), ContainsSubstring("No space left on device"));
  CHECK(fs::exists("/dev/full"));
}

TEST_CASE("a missing folder, and a file in its place, are bad input") {
  const std::string folder = fresh_folder("none");
  CHECK_THAT(write_file(folder + "/b/a.csv", "x").message(), ContainsSubstring("No such file"));
  CHECK(write_file(folder + "/b/a.csv", "x").code() == StatusCode::kInvalidInput);
  REQUIRE(write_file(folder + "/file", "x").is_ok());
  CHECK(make_folder(folder + "/file").code() == StatusCode::kInvalidInput);
  CHECK_FALSE(make_folder(folder + "/file/below").is_ok());
  CHECK(make_folder(folder + "/c/d").is_ok());
  CHECK(make_folder(folder + "/c/d").is_ok());
  // A folder in the file's place.
  CHECK_FALSE(write_file(folder + "/c", "x").is_ok());
  CHECK(entries(folder) == 2);
}

TEST_CASE("try_folder says whether a folder can be written, and leaves nothing in it") {
  const std::string folder = fresh_folder("tried");
  CHECK(try_folder(folder + "/new/below").is_ok());
  CHECK(try_folder(folder + "/new/").is_ok());
  CHECK(entries(folder) == 0);
  REQUIRE(make_folder(folder + "/new").is_ok());
  CHECK(try_folder(folder + "/new").is_ok());
  CHECK(entries(folder + "/new") == 0);
  REQUIRE(write_file(folder + "/new/manifest.json", "kept").is_ok());
  CHECK(try_folder(folder + "/new").is_ok());
  CHECK(entries(folder + "/new") == 1);
  CHECK(read_text_file(folder + "/new/manifest.json").value() == "kept");
  CHECK_FALSE(try_folder(folder + "/new/manifest.json").is_ok());
  CHECK_THAT(try_folder("/proc").message(), ContainsSubstring("/proc/manifest.json: cannot"));
  CHECK_THAT(try_folder("/proc/new/below").message(),
             ContainsSubstring("/proc/new/below: cannot make this folder: "));
  CHECK_FALSE(try_folder(folder + '/' + std::string(300, 'x') + "/below").is_ok());
}

TEST_CASE("processes that try one folder at a time do not take it from each other") {
  const std::string folder = fresh_folder("shared");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&folder, i] {
      for (int k = 0; k < 200; ++k) {
        const std::string path = folder + "/a/b" + std::to_string(k);
        const bool is_good = try_folder(path + "/c").is_ok() && make_folder(path + "/d").is_ok() &&
                             write_file(path + "/d/" + std::to_string(i), "kept").is_ok();
        if (!is_good) return;
      }
      static_cast<void>(write_file(folder + "/done" + std::to_string(i), "all"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(entries(folder) == 5);  // a, and what each of the four wrote at its end
}

}  // namespace
}  // namespace recto::experiments
