#pragma once

// Test helpers for traces written as text.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "sim/request.h"
#include "sim/traces/trace_reader.h"

namespace recto::testing {

// All requests of the trace `bytes`, or its error. Messages call the file "t".
inline Result<std::vector<sim::Request>> read_text(std::string_view bytes,
                                                   const sim::TraceOptions& options = {}) {
  auto trace = sim::read_trace(sim::make_memory_source(std::string(bytes)), "t", options);
  if (!trace.is_ok()) return trace.status();
  std::vector<sim::Request> requests;
  while (true) {
    Result<std::optional<sim::Request>> request = trace.value()->next();
    if (!request.is_ok()) return request.status();
    if (!request.value()) return requests;
    requests.push_back(*std::move(request).value());
  }
}

// The message of the error that reading `bytes` ends with; empty if there is none.
inline std::string error_of(std::string_view bytes, const sim::TraceOptions& options = {}) {
  return read_text(bytes, options).status().message();
}

// The times and lengths of the requests, as "arrival_ns prompt output; ...".
inline std::string outline(const Result<std::vector<sim::Request>>& requests) {
  if (!requests.is_ok()) return requests.status().message();
  std::string text;
  for (const sim::Request& request : requests.value()) {
    if (!text.empty()) text += "; ";
    text += std::to_string(request.arrival.value()) + " " +
            std::to_string(request.prompt_tokens.value()) + " " +
            std::to_string(request.output_tokens.value());
  }
  return text;
}

// The same for a file.
inline std::string outline_of_file(const std::string& path) {
  auto trace = sim::open_trace(path);
  if (!trace.is_ok()) return trace.status().message();
  std::vector<sim::Request> requests;
  while (std::optional<sim::Request> request = trace.value()->next().value()) {
    requests.push_back(*std::move(request));
  }
  return std::string(sim::format_name(trace.value()->format())) + ": " +
         outline(std::move(requests));
}

}  // namespace recto::testing
