#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/request.h"

namespace recto::sim {

// A source of requests that are known in advance; `rewind` restarts it.
class RequestList final : public RequestSource {
 public:
  explicit RequestList(std::vector<Request> requests) : requests_(std::move(requests)) {}

  Result<std::optional<SimTime>> next_arrival() override {
    if (exhausted()) return std::optional<SimTime>();
    return std::optional<SimTime>(requests_[position_].arrival);
  }
  Result<std::optional<Request>> next() override {
    if (exhausted()) return std::optional<Request>();
    return std::optional<Request>(requests_[position_++]);
  }
  bool exhausted() const override { return position_ == requests_.size(); }

  void rewind() { position_ = 0; }
  const std::vector<Request>& requests() const { return requests_; }

 private:
  std::vector<Request> requests_;
  std::size_t position_ = 0;
};

}  // namespace recto::sim
