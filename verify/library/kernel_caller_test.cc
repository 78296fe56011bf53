#include "verify/library/kernel_caller.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/library/kernel_library_backends.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// What a call's function does: with the call, and a translation of its addresses.
struct Answered {
  KernelMailbox& mailbox;
  std::byte* arena;
  std::uintptr_t base;

  template <typename T>
  T* at(T* pointer) const {
    return reinterpret_cast<T*>(arena + (reinterpret_cast<std::uintptr_t>(pointer) - base));
  }
  RectoAttentionCall call() const {
    RectoAttentionCall call;
    std::memcpy(&call, mailbox.call, sizeof call);
    return call;
  }
  void say(const char* text) const { std::strcpy(at(call().context.message), text); }
};

// The process at the other end, as a thread of this one.
class Caller {
 public:
  explicit Caller(std::function<void(const Answered&)> answer) : answer_(std::move(answer)) {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    thread_.join();
    close(ends_[1]);
  }

  int socket() const { return ends_[0]; }
  int starts = 0;
  std::uint64_t features = 0;
  bool has_guards = false;

 private:
  void serve() {
    char line[8192] = {};
    char control[256] = {};
    iovec text = {.iov_base = line, .iov_len = sizeof line - 1};
    msghdr message = {};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(ends_[1], &message, 0) <= 0) return;
    int files[2] = {};
    std::memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof files);
    const Json hello = parse_json(line).value();
    const auto map = [](int file, std::size_t bytes) {
      void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      close(file);
      return static_cast<std::byte*>(at);
    };
    const auto arena_bytes = hello["arena_bytes"].get<std::size_t>();
    std::byte* const arena = map(files[0], arena_bytes);
    std::byte* const memory = map(files[1], hello["mailbox_bytes"].get<std::size_t>());
    const Answered answered{*reinterpret_cast<KernelMailbox*>(memory), arena,
                            hello["base"].get<std::uintptr_t>()};
    for (char request = 0; recv(ends_[1], &request, 1, 0) == 1;) {
      if (request == 's') start(answered.mailbox);
      if (request == 'c') answer_(answered);
      (void)!send(ends_[1], &request, 1, MSG_NOSIGNAL);
    }
    munmap(arena, arena_bytes);
    munmap(memory, hello["mailbox_bytes"].get<std::size_t>());
  }

  void start(KernelMailbox& mailbox) {
    ++starts;
    mailbox.table = {.struct_bytes = sizeof(RectoKernelTable),
                     .abi_major = RECTO_KERNEL_ABI_MAJOR,
                     .abi_minor = RECTO_KERNEL_ABI_MINOR,
                     .memories = kRectoHostMemory,
                     .features = features,
                     .name = "caller",
                     .has_function = {true, false, false}};
    mailbox.has_guards = has_guards;
    mailbox.load_step = LoadStep::kLoaded;
  }

  std::function<void(const Answered&)> answer_;
  int ends_[2] = {-1, -1};
  std::thread thread_;
};

LawCase small_case() {
  CaseSpec spec;
  spec.sequences = {{.num_rows = 1, .context_length = 3}};
  spec.placement.block_size = 2;
  return {make_problem(spec), spec.placement};
}

// V of ones gives ones; K of one head of one dim gives the lse.
void answer_rightly(const Answered& answered) {
  const RectoAttentionCall call = answered.call();
  auto* const out = static_cast<float*>(answered.at(call.out.data));
  out[0] = 1.0F;
  answered.at(call.lse_ln)[0] = 1.0F + std::log(3.0F);
  answered.mailbox.returned = kRectoOk;
}

LawVerdict judged(const Backend& backend) {
  return verdict_of(oracle_comparison(), backend, small_case(), BoundKind::kProbabilistic);
}

LibraryUnderTest tested_of(Caller& caller) {
  auto library = KernelLibrary::of_caller(caller.socket());
  REQUIRE(library.is_ok());
  return library_under_test(library.value());
}

TEST_CASE("a caller's function is judged as a library's function is") {
  Caller caller(answer_rightly);
  const LibraryUnderTest tested = tested_of(caller);
  REQUIRE(tested.backends.size() == 1);
  CHECK(tested.backends[0].name == "caller decode");
  const LawVerdict verdict = judged(tested.backends[0]);
  INFO(verdict.details());
  CHECK(!verdict.failed());
  CHECK(verdict.comparison.elements == 2);
}

TEST_CASE("results without lse are judged by out alone") {
  Caller caller([](const Answered& answered) {
    answer_rightly(answered);
    answered.at(answered.call().lse_ln)[0] = 77.0F;
    answered.mailbox.table.features = kRectoWithoutLseLn;
  });
  const LawVerdict verdict = judged(tested_of(caller).backends[0]);
  CHECK(!verdict.failed());
  CHECK(verdict.comparison.elements == 1);
}

TEST_CASE("a caller's message is the failure, and its output is shown") {
  Caller caller([](const Answered& answered) {
    answered.mailbox.returned = kRectoFailed;
    std::strcpy(answered.mailbox.printed, "line 3, in decode");
    answered.say("raised ValueError: no");
  });
  const LawVerdict verdict = judged(tested_of(caller).backends[0]);
  REQUIRE(verdict.call_failure);
  CHECK(verdict.call_failure->kind == "status: raised ValueError");
  CHECK_THAT(verdict.call_failure->message,
             ContainsSubstring("decode raised ValueError: no\nit printed\n  line 3, in decode"));
}

TEST_CASE("a refusal is a skip") {
  Caller caller([](const Answered& answered) {
    answered.mailbox.returned = kRectoUnsupported;
    answered.say("more than one sequence");
  });
  CHECK(judged(tested_of(caller).backends[0]).skipped == "more than one sequence");
}

TEST_CASE("changed inputs and accesses between arrays are found without guards") {
  const auto message_after = [](const std::function<void(const Answered&)>& stray) {
    Caller caller([stray](const Answered& answered) {
      answer_rightly(answered);
      stray(answered);
    });
    const LawVerdict verdict = judged(tested_of(caller).backends[0]);
    return verdict.call_failure ? verdict.call_failure->message : "";
  };
  CHECK_THAT(message_after([](const Answered& answered) {
               *const_cast<char*>(static_cast<const char*>(answered.at(answered.call().q.data))) ^=
                   1;
             }),
             ContainsSubstring("a write at byte 0 of q, which may only be read"));
  const auto far_from_k = [](const Answered& answered) {
    return const_cast<char*>(static_cast<const char*>(answered.at(answered.call().k.data))) +
           (GuardedArena::kGuardBytes >> 2);
  };
  CHECK_THAT(message_after([&](const Answered& answered) { *far_from_k(answered) = 1; }),
             ContainsSubstring("an access at byte"));
  CHECK_THAT(message_after([&](const Answered& answered) {
               [[maybe_unused]] const volatile char read = *far_from_k(answered);
             }),
             ContainsSubstring("of k, which has"));
  CHECK(message_after([](const Answered&) {}).empty());
}

TEST_CASE("a call that ends its process is reported, and the next one has a new process") {
  Caller caller([](const Answered& answered) {
    answered.mailbox.end = KernelEnd::kSignal;
    answered.mailbox.returned = 11;
  });
  caller.has_guards = true;
  const LibraryUnderTest tested = tested_of(caller);
  CHECK(caller.starts == 1);
  LawVerdict verdict = judged(tested.backends[0]);
  REQUIRE(verdict.call_failure);
  CHECK(verdict.call_failure->message == "decode was ended by SIGSEGV");
  tested.backends[0].restart(CallsAre::kTrials);
  CHECK(judged(tested.backends[0]).failed());
  CHECK(caller.starts == 2);
}

TEST_CASE("unknown features, and file descriptors that are no sockets, are refused") {
  {
    Caller caller(answer_rightly);
    caller.features = 6;
    const auto library = KernelLibrary::of_caller(caller.socket());
    CHECK_THAT(library.status().message(),
               ContainsSubstring("features: expected kRectoWithoutLseLn"));
  }
  const auto library = KernelLibrary::of_caller(dup(STDIN_FILENO));
  CHECK_THAT(library.status().message(), ContainsSubstring("expected a connected socket"));
}

}  // namespace
}  // namespace recto::verify
