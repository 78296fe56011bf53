#include "verify/explanation/hypothesis_report.h"

#include <fmt/format.h>

namespace recto::verify {

std::string hypotheses_text(const HypothesisReport& report) {
  const std::size_t fitting = report.fitting.size();
  std::string text = fmt::format("faults     {} tried that would change this case; {} {}",
                                 report.tried, fitting, fitting == 1 ? "fits" : "fit");
  text += fitting > 1 ? ", which it does not tell apart\n" : "\n";
  for (const std::string& what : report.fitting) text += "  " + what + "\n";
  if (report.weak) {
    text +=
        fmt::format("  weak: {}, so that other faults would give the same numbers\n", *report.weak);
  }
  for (const std::string& what : report.left_out) text += "  not tried: " + what + "\n";
  return text;
}

}  // namespace recto::verify
