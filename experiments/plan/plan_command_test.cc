#include "experiments/support/command.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
testing::TriedCommand plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "plan");
  return testing::try_command(plan_command, std::move(arguments));
}

Json plan_json_of(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const testing::TriedCommand tried = plan(std::move(arguments));
  CHECK(tried.err.empty());
  REQUIRE(tried.exit_code == 0);
  return parse_json(tried.out).value();
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const testing::TriedCommand tried = plan(arguments);
  CHECK(tried.exit_code == 2);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, ContainsSubstring(message));
}

TEST_CASE("a plan prints exactly the expected text") {
  const auto tried = plan({"--model", "OPT-13B", "--gpu", "A100-40", "--prompt", "161", "--output",
                           "338", "--length", "2048", "--mean-length", "499"});
  CHECK(tried.exit_code == 0);
  CHECK(tried.err.empty());
  CHECK(tried.out == 1 + R"(
OPT-13B on 1 x A100-40, 2 bytes per KV element, blocks of 16

memory of each card                     bytes                share
-----------------------------  --------------  ---------  --------
weights                        25,706,946,560  23.94 GiB   59.85 %
reserve: context, activations   1,438,646,272   1.34 GiB    3.35 %
KV blocks                      11,508,121,600  10.72 GiB   26.79 %
less than a block                     991,232  968.0 KiB    0.00 %
left alone at utilization 0.9   4,294,967,296   4.00 GiB   10.00 %
the card                       42,949,672,960  40.00 GiB  100.00 %

KV bytes    819,200 per token, 13,107,200 per block
KV pool     878 blocks of 16 = 14,048 tokens

request tokens  blocks  tail slots  fit paged  fit at 2,048 reserved   K and V of 1
--------------  ------  ----------  ---------  ---------------------  -------------
         2,048     128           0          6                      6  2 x 800.0 MiB
     161 + 338      32          13         27                      6  2 x 194.9 MiB

Requests of a mean length: 2,048 slots reserved for each, against blocks, whose last one lacks
7.5 tokens on average. Wasted: of the slots of a request, and of all that fit.
mean tokens  reserved: fit   wasted  of card  paged: fit  wasted  of card  times
-----------  -------------  -------  -------  ----------  ------  -------  -----
        499              6  75.63 %  17.73 %          27  1.48 %   0.39 %   4.50
)");
}

TEST_CASE("no line of a plan is wider than 100 columns, for any model and card") {
  for (const char* model : {"GPT-2-small", "OPT-175B", "Llama-3.1-8B"}) {
    for (const char* gpu : {"L4", "B200"}) {
      const auto tried = plan({"--model", model, "--gpu", gpu, "--tp", "4", "--batch", "1000000",
                               "--mean-length", "1000", "--length", "1000", "--times", "3"});
      std::istringstream lines(tried.out);
      for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 100);
    }
  }
}

TEST_CASE("12 GiB hold 15,728 slots of OPT-13B") {
  const Json json = plan_json_of({"--model", "OPT-13B", "--pool-gib", "12"});
  CHECK(json["pool_slots"] == 15'728);
  CHECK(json["kv_bytes_per_token_per_card"] == 819'200);
  CHECK(json["lengths"].back()["fit_contiguous"] == 7);
}

TEST_CASE("the parts of the memory add up, whatever the model and the tensor parallelism") {
  for (const char* tp : {"1", "2", "8"}) {
    const Json memory =
        plan_json_of({"--model", "facebook/opt-13b", "--gpu", "h100", "--tp", tp, "--kv-dtype",
                      "fp8", "--reserve-gib", "2.5", "--utilization", "0.85"})["memory_per_card"];
    std::int64_t sum = 0;
    for (const auto& [part, bytes] : memory.items()) {
      if (part != "card_bytes") sum += bytes.get<std::int64_t>();
    }
    CHECK(sum == memory["card_bytes"]);
  }
}

TEST_CASE("the type of K and V decides the bytes per token") {
  const auto bytes = [](const char* dtype) {
    return plan_json_of({"--kv-dtype", dtype})["kv_bytes_per_token_per_card"].get<int>();
  };
  CHECK(bytes("fp8") * 2 == bytes("fp16"));
  CHECK(bytes("bf16") == bytes("fp16"));
  CHECK(bytes("fp16") * 2 == bytes("fp32"));
}

TEST_CASE("Llama-2-70B without grouped heads takes 40 GiB each for K and V at 8 x 4096") {
  const auto tried = plan({"--model", "Llama-2-70B", "--no-gqa", "--gpu", "H200", "--tp", "8",
                           "--length", "4096", "--batch", "8"});
  CHECK_THAT(tried.out, ContainsSubstring("2 x 40.00 GiB"));
}

TEST_CASE("the 24 GB example: 28.46 % of the card, then below 1 %, and seven times the batch") {
  const auto tried =
      plan({"--model", "Llama-3.1-8B", "--gpu", "RTX-4090", "--utilization", "1", "--max-length",
            "8192", "--mean-length", "360,792", "--times", "7", "--waste-below", "1"});
  CHECK_THAT(tried.out, ContainsSubstring("360              7  95.61 %  28.46 %         160  "
                                          "2.04 %   0.62 %"));
  CHECK_THAT(tried.out, ContainsSubstring("792              7  90.33 %"));
  CHECK_THAT(tried.out, ContainsSubstring("Blocks hold 7 x 7 requests up to a mean length of "
                                          "1,199 tokens."));
  CHECK_THAT(tried.out, ContainsSubstring("Blocks waste less than 1 % of the card from a mean "
                                          "length of 223 tokens on."));
}

TEST_CASE("for a request that does not fit, the plan names the smallest --tp") {
  const auto tried = plan({"--model", "Llama-3.1-8B", "--gpu", "RTX-4090", "--length", "100000"});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out,
             ContainsSubstring(
                 "No request of 100,000 tokens fits; the smallest that suffices is --tp 2."));
}

TEST_CASE("models and cards are listed") {
  CHECK_THAT(plan({"--list-models"}).out, ContainsSubstring("Qwen3-32B"));
  CHECK_THAT(plan({"--list-gpus"}).out, ContainsSubstring("RTX-PRO-6000"));
  const std::string named = plan({"--list-gpus", "--list-models"}).out;
  CHECK_THAT(named, ContainsSubstring("Qwen3-32B"));
  CHECK_THAT(named, ContainsSubstring("RTX-PRO-6000"));
  CHECK(plan({"--list-models", "--json"}).exit_code == 2);
  const std::string both = plan({"--list"}).out;
  CHECK_THAT(both, ContainsSubstring("Qwen3-32B"));
  CHECK_THAT(both, ContainsSubstring("RTX-PRO-6000"));
}

TEST_CASE("a plan that does not fit is bad input, with figures and the fewest cards") {
  check_refused({"--model", "OPT-66B", "--gpu", "A100-40"}, "weights take 131439403008");
  check_refused({"--model", "OPT-66B", "--gpu", "A100-40"}, "the least that fits is --tp 4");
}

TEST_CASE("bad flags are named, with what was expected") {
  check_refused({"--model", "gpt-5"},
                "--model: unknown model 'gpt-5'; expected one of GPT-2-small");
  check_refused({"--gpu", "abacus"}, "--gpu: unknown GPU 'abacus'; expected one of A100-40");
  check_refused({"--block-size", "0"}, "--block-size");
  check_refused({"--utilization", "1.5"}, "--utilization");
  check_refused({"--tp", "3"}, "tensor parallelism = 3; expected a divisor of the 40 query heads");
  check_refused({"--kv-dtype", "int4"}, "--kv-dtype");
  check_refused({"--length", "many"}, "--length");
  check_refused({"--length", "4096"}, "--length: expected 1 to 2048 tokens");
  check_refused({"--mean-length", "0"}, "--mean-length");
  check_refused({"--max-length", "4096"}, "--max-length: expected 1 to 2048 tokens");
  check_refused({"--batch", "0"}, "--batch");
  check_refused({"--pool-gib", "0.001"}, "--pool-gib: expected at least one block");
  check_refused({"--reserve-gib", "-1"}, "--reserve-gib");
  check_refused({"--model-file", "no/such.json"}, "--model-file: no/such.json");
  check_refused({"--colour"}, "--colour");
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = plan({"--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"--model", "--kv-dtype", "--no-gqa", "--mean-length", "--times",
                           "--list-gpus", "Examples:"}) {
    CHECK_THAT(tried.out, ContainsSubstring(part));
  }
}

}  // namespace
}  // namespace recto::experiments
