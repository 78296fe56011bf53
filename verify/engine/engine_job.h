#pragma once

// A request in the engine: the texts of its sequences, and the choice of their next tokens. It does
// not know where anything is in memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/engine/engine.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

class EngineJob {
 public:
  explicit EngineJob(const GenerationRequest& request);

  const GenerationRequest& request() const { return request_; }
  std::int64_t outputs() const;
  bool is_finished() const { return outputs() == request_.output_tokens; }
  // Prompt and output so far.
  std::span<const Token> text(std::int32_t member) const { return at(member).text; }

  // Guesses the continuation of the text: what followed the previous occurrence of its last token;
  // empty if there is none.
  std::vector<Token> drafts(std::int32_t member, std::int64_t count) const;

  // Records the logits of a member's last token; as long as there is no output, all members share
  // them. Returns true if all members now have theirs.
  bool tell(std::int32_t member, const reference::Vector& logits);
  // Forgets the recorded logits, since they will be computed again.
  void forget_logits();

  // Appends one token to each member, by the recorded logits. Returns whose text each member
  // continues.
  std::vector<std::int32_t> choose();

  // Returns how many leading drafts were right, by the logits after each draft, in the step that
  // chose a token.
  std::int64_t right_drafts(std::int32_t member, std::span<const Token> drafts,
                            std::span<const reference::Vector> logits) const;
  // Appends one token to a member for each of these logits.
  void go_on(std::int32_t member, std::span<const reference::Vector> logits);
  // Replaces the last token, for a fault.
  void replace_last(std::int32_t member, Token token);

  EngineText result() const;

 private:
  struct Member {
    std::vector<Token> text;
    std::optional<reference::Vector> told = {};
    std::vector<reference::Vector> logits = {};  // that each output was chosen by
    double score = 0;                            // of a beam
  };

  const Member& at(std::int32_t member) const { return members_[static_cast<std::size_t>(member)]; }
  Member& at(std::int32_t member) { return members_[static_cast<std::size_t>(member)]; }
  Token token_by(std::int32_t member, std::int64_t output, const reference::Vector& logits) const;
  std::vector<std::int32_t> search();

  GenerationRequest request_;
  std::vector<Member> members_;  // [width]
};

}  // namespace recto::verify
