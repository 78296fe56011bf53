// recto ptx: the kernels of a file; and its server, as the Python package uses it.

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/ptx/ptx_server.h"
#include "experiments/support/command.h"
#include "experiments/support/output_file.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";
const std::string kStore =
    ".visible .entry store(.param .u64 to, .param .u32 value, .param .align 8 .b8 pair[24])\n"
    ".maxntid 64, 1, 1\n{\n.shared .align 4 .b8 s[12];\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [to];\nld.param.u32 %r1, [value];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
const std::string kRefused =
    ".visible .entry refused()\n{\n.reg .b32 %r<2>;\nno.such.u32 %r1, %r1;\nret;\n}\n";

testing::TriedCommand ptx(const std::string& text) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/kernel.ptx";
  REQUIRE(write_file(path, text).is_ok());
  return testing::try_command(ptx_command, {"ptx", path});
}

TEST_CASE("the kernels of a file are listed, with what a launch needs") {
  const auto tried = ptx(kHead + kStore);
  INFO(tried.err);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("store") && ContainsSubstring("u64 u32 b8[24]") &&
                            ContainsSubstring("12") && ContainsSubstring("64"));
}

TEST_CASE("a kernel that cannot be run is reported with its line") {
  const auto tried = ptx(kHead + kStore + kRefused);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("kernel.ptx: refused: line 18"));
  CHECK_THAT(tried.err, ContainsSubstring("1 of 2 kernels cannot be run"));
}

TEST_CASE("a file that is not PTX is bad input") {
  for (const std::string& text : {std::string("nonsense"), std::string("\x7f"
                                                                       "ELF\0\1",
                                                                       6)}) {
    const auto tried = ptx(text);
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring("kernel.ptx: line 1"));
  }
  CHECK(testing::try_command(ptx_command, {"ptx", "none.ptx"}).exit_code == 2);
  CHECK(testing::try_command(ptx_command, {"ptx", "-", "--serve", "3"}).exit_code == 2);
}

// A server in a thread of its own.
class Client {
 public:
  Client() {
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    socket_ = sockets[0];
    file_ = memfd_create("ptx", 0);
    REQUIRE(ftruncate(file_, kBytes) == 0);
    memory =
        static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    server_ = std::thread([this, theirs = sockets[1]] {
      served_ = serve_ptx({theirs, file_});
      close(theirs);
    });
  }
  ~Client() {
    close(socket_);
    server_.join();
    CHECK(served_.is_ok());
    munmap(memory, kBytes);
    close(file_);
  }

  Json ask(const std::string& line) const {
    const std::string text = line + "\n";
    REQUIRE(send(socket_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    std::string answer;
    char byte = 0;
    while (recv(socket_, &byte, 1, 0) == 1 && byte != '\n') answer += byte;
    return parse_json(answer).value();
  }
  Json ask(const Json& request) const { return ask(json_text(request)); }

  static constexpr std::size_t kBytes = 1 << 16;
  char* memory = nullptr;

 private:
  int socket_ = 0;
  int file_ = 0;
  std::thread server_;
  Status served_;
};

Json launch_request() {
  return {{"module", 0U},
          {"kernel", "store"},
          {"grid", std::vector<unsigned>{1, 1, 1}},
          {"block", std::vector<unsigned>{1, 1, 1}},
          {"shared", 0U},
          {"cluster", std::vector<unsigned>{1, 1, 1}},
          {"is_cooperative", false},
          {"equal_stores", false},
          {"counts", true},
          {"is_perturbed", false},
          {"checks", std::vector<std::string>{"races", "uninitialised-memory"}},
          {"policy", "in-order"},
          {"seed", 0U},
          {"file_bytes", Client::kBytes},
          {"buffers",
           Json::array(
               {Json{{"name", "to"}, {"begin", 4096U}, {"bytes", 4U}, {"access", "write-first"}}})},
          {"arguments", Json::array({Json::array({Json{{"begin", 4096U}}}),
                                     Json::array({Json{{"hex", "07000000"}}}),
                                     Json::array({Json{{"hex", std::string(48, '0')}}})})}};
}

TEST_CASE("a server launches kernels on the shared file") {
  const Client client;
  const std::string text = kHead + kStore;
  std::memcpy(client.memory, text.data(), text.size());
  const Json loaded = client.ask(Json{{"load", text.size()}});
  INFO(json_text(loaded));
  REQUIRE(loaded.contains("kernels"));
  CHECK(loaded["kernels"][0]["name"].get<std::string>() == "store");
  CHECK(loaded["kernels"][0]["parameters"][2]["bytes"].get<int>() == 24);
  Json request = launch_request();
  const Json answer = client.ask(Json{{"launch", request}});
  CHECK(answer["findings"].empty());
  CHECK(answer["counters"]["by_kind"]["store"].get<int>() == 1);
  CHECK(answer["counters"]["global_bytes"].get<int>() == 4);
  CHECK(client.memory[4096] == 7);
  request["arguments"][0][0]["begin"] = 4100U;
  const Json found = client.ask(Json{{"launch", request}})["findings"];
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].get<std::string>(), ContainsSubstring("past the end of to (4 bytes)"));
}

TEST_CASE("invalid requests are answered by an error, and the server goes on") {
  const Client client;
  std::memcpy(client.memory, kHead.data(), kHead.size());
  for (const char* line : {"", "nonsense", "[]", "{}", R"({"load": -1})", R"({"load": 99999999})",
                           R"({"launch": 1})", R"({"launch": {"grid": [1, 1, 99999999999]}})"}) {
    CAPTURE(line);
    CHECK(client.ask(std::string(line)).contains("error"));
  }
  const std::string text = kHead + kStore;
  std::memcpy(client.memory, text.data(), text.size());
  REQUIRE(client.ask(Json{{"load", text.size()}}).contains("module"));
  const auto refused = [&](const char* key, const Json& value) {
    Json request = launch_request();
    request[key] = value;
    const Json answer = client.ask(Json{{"launch", request}});
    return answer.contains("error") ? answer["error"].get<std::string>() : std::string();
  };
  CHECK_THAT(refused("module", 1U), ContainsSubstring("module"));
  CHECK_THAT(refused("kernel", "none"), ContainsSubstring("no kernel 'none'"));
  CHECK_THAT(refused("policy", "none"), ContainsSubstring("policy"));
  CHECK_THAT(refused("checks", Json::array({1})), ContainsSubstring("checks"));
  CHECK_THAT(refused("arguments", Json::array()), ContainsSubstring("expected 3, got 0"));
  CHECK_THAT(refused("file_bytes", 1U << 20), ContainsSubstring("memory: expected a file of"));
  CHECK_THAT(refused("buffers", Json::array({Json{{"name", "to"},
                                                  {"begin", Client::kBytes},
                                                  {"bytes", 4U},
                                                  {"access", "read-write"}}})),
             ContainsSubstring("a place in the file"));
}

}  // namespace
}  // namespace recto::experiments
