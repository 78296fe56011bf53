#pragma once

// A request in the engine: the texts of its sequences, and the choice of their next tokens. It does
// not depend on memory.

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

  // Guesses the continuation of the text: the tokens after the previous occurrence of its last
  // token. Empty if there is none.
  std::vector<Token> drafts(std::int32_t member, std::int64_t count) const;

  // Records the logits of a member's last token. All members share them until there is an output.
  // Returns true once all members have logits.
  bool tell(std::int32_t member, const reference::Vector& logits);
  // Forgets the recorded logits, because they will be computed again.
  void forget_logits();

  // Appends one token to each member, chosen from the recorded logits. Returns the member whose
  // text each one continues.
  std::vector<std::int32_t> choose();

  // The number of leading drafts that were right, by the logits after each draft. Call it in the
  // step that chose a token.
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
    std::vector<reference::Vector> logits = {};  // from which each output was chosen
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
