#pragma once

// The known trace formats. README.md shows a line of each.

#include <cstdint>
#include <string_view>

namespace recto::sim {

enum class TraceFormat : std::uint8_t {
  kAzure,          // TIMESTAMP,ContextTokens,GeneratedTokens
  kBurstGpt,       // Timestamp,...,Request tokens,Response tokens,...
  kVidur,          // arrived_at,num_prefill_tokens,num_decode_tokens
  kPlain,          // arrival_s,prompt_tokens,output_tokens
  kMooncake,       // JSON lines, one id per 512-token prefix block
  kBailian,        // JSON lines, one id per 16-token block
  kLlmServingSim,  // JSON lines, explicit token ids
};

// The name shown to users, such as "Azure CSV".
constexpr std::string_view format_name(TraceFormat format) {
  switch (format) {
    case TraceFormat::kAzure:
      return "Azure CSV";
    case TraceFormat::kBurstGpt:
      return "BurstGPT CSV";
    case TraceFormat::kVidur:
      return "Vidur CSV";
    case TraceFormat::kPlain:
      return "plain CSV";
    case TraceFormat::kMooncake:
      return "Mooncake JSONL";
    case TraceFormat::kBailian:
      return "Qwen-Bailian JSONL";
    case TraceFormat::kLlmServingSim:
      return "LLMServingSim JSONL";
  }
  return "unknown";
}

}  // namespace recto::sim
