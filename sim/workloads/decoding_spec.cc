#include "sim/workloads/decoding_spec.h"

#include <algorithm>
#include <limits>

#include "core/contract.h"
#include "sim/workloads/spec_text.h"

namespace recto::sim {
namespace {

// Out of range values stay out of range when narrowed.
std::int32_t read_width(SpecReader& reader) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(reader.count("width"), 0, kLargest));
}

DecodingSpec read_single(SpecReader&) { return {}; }
DecodingSpec read_parallel(SpecReader& reader) { return {Decoding::kParallel, read_width(reader)}; }
DecodingSpec read_beam(SpecReader& reader) { return {Decoding::kBeam, read_width(reader)}; }

constexpr SpecForm<DecodingSpec> kForms[] = {
    {"single", "single", read_single},
    {"parallel", "parallel:WIDTH", read_parallel},
    {"beam", "beam:WIDTH", read_beam},
};

}  // namespace

Status check_decoding(const DecodingSpec& spec) {
  constexpr std::int32_t kWidest = 1024;
  return check_count("width", spec.width, {1, spec.kind == Decoding::kSingle ? 1 : kWidest});
}

Result<DecodingSpec> parse_decoding(std::string_view text) {
  return read_spec<DecodingSpec>(text, kForms, check_decoding);
}

std::string describe(const DecodingSpec& spec) {
  switch (spec.kind) {
    case Decoding::kSingle:
      return "single";
    case Decoding::kParallel:
      return "parallel:" + std::to_string(spec.width);
    case Decoding::kBeam:
      return "beam:" + std::to_string(spec.width);
  }
  RECTO_UNREACHABLE("decoding");
}

}  // namespace recto::sim
