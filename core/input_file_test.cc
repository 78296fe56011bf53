// Tests of which files are opened, and which are refused at once instead of blocking.

#include "core/input_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

std::string path_of(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(std::getenv("TEST_TMPDIR")) / name;
  std::filesystem::remove(path);
  return path.string();
}

std::string refusal(const std::string& path) {
  const Result<std::string> read = read_input_file(path);
  CHECK(read.status().code() == StatusCode::kInvalidInput);
  return read.status().message();
}

void write(int descriptor, const std::string& text) {
  REQUIRE(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(descriptor);
}

TEST_CASE("a file is read whole") {
  const std::string path = path_of("file");
  const std::string text(200'001, 'x');
  write(open(path.c_str(), O_WRONLY | O_CREAT, 0600), text);
  CHECK((read_input_file(path).value() == text));
}

TEST_CASE("a pipe that is open already is read until it is closed") {
  int ends[2] = {};
  REQUIRE(pipe(ends) == 0);
  write(ends[1], "text");
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  CHECK(read_input_file(path).value() == "text");
  close(ends[0]);
}

TEST_CASE("a named pipe is refused at once, with a writer or without") {
  const std::string path = path_of("named");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal(path) == "expected a file, found a named pipe, which may never get a writer");
  const int both = open(path.c_str(), O_RDWR);
  CHECK(refusal(path) == "expected a file, found a named pipe, which may never get a writer");
  close(both);
}

TEST_CASE("folders, devices, sockets and missing files are refused, with the reason") {
  CHECK(refusal("/") == "Is a directory");
  CHECK(refusal("nowhere") == "No such file or directory");
  CHECK(refusal("") == "No such file or directory");
  CHECK(refusal("/dev/zero") == "expected a file, found a device, whose data may never end");
  const std::string path = "socket-" + std::to_string(getpid());  // the name's length is limited
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(refusal(path) == "expected a file, found a socket, or a missing device");
  close(listening);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace recto
