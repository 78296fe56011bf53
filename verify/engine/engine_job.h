#pragma once

// A request in the engine: the texts of its sequences, and the choice of their next tokens. Where
// anything lies in memory is not known here.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/engine/engine_run.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

class EngineJob {
 public:
  explicit EngineJob(const GenerationRequest& request);

  const GenerationRequest& request() const { return request_; }
  std::int64_t outputs() const;
  bool is_finished() const { return outputs() == request_.output_tokens; }
  // Prompt and output so far.
  std::span<const Token> text(std::int32_t member) const {
    return texts_[static_cast<std::size_t>(member)];
  }

  // Guesses of what comes after the text: what followed the last time that its last token stood in
  // it; nothing if it never did.
  std::vector<Token> drafts(std::int32_t member, std::int64_t count) const;

  // The logits of a member's last token, which all members share as long as nothing is written.
  // True if now all members have theirs.
  bool tell(std::int32_t member, const reference::Vector& logits);
  // They are computed again.
  void forget_logits();

  // One more token for each member, by what was told; whose text each goes on with.
  std::vector<std::int32_t> choose();

  // By the logits behind each of these drafts, in the step that chose a token: how many drafts were
  // right, one after the other.
  std::int64_t right_drafts(std::int32_t member, std::span<const Token> drafts,
                            std::span<const reference::Vector> logits) const;
  // One more token of a member by each of these logits.
  void go_on(std::int32_t member, std::span<const reference::Vector> logits);
  // For a fault: another last token.
  void replace_last(std::int32_t member, Token token);

  EngineText result() const;

 private:
  struct Member {
    std::optional<reference::Vector> told;
    std::vector<reference::Vector> logits;
    double score = 0;  // of a beam
  };

  Token token_by(std::int32_t member, std::int64_t output, const reference::Vector& logits) const;
  void sample();
  std::vector<std::int32_t> search();

  GenerationRequest request_;
  std::vector<std::vector<Token>> texts_;  // [width]
  std::vector<Member> members_;            // [width]
};

}  // namespace recto::verify
