#pragma once

#include <string>

#include "experiments/trace/trace_report.h"

namespace recto::experiments {

// For the terminal, at most 100 columns wide (the file's name apart).
std::string trace_text(const TraceReport& report);

}  // namespace recto::experiments
