// Removes facts about people and machines, and secrets, from a report before it is shared. Secrets are recognised by
// the name of their variable or option, or by their shape; a secret with neither is not found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::report {

// The words of a command with only its secrets removed. Call this before the words are quoted for a shell.
std::vector<std::string> without_secrets(const std::vector<std::string>& command);

class Redaction {
 public:
  // `homes` are folders; `users` and `hosts` are names.
  Redaction(std::vector<std::string> homes, std::vector<std::string> users, std::vector<std::string> hosts);

  // In `text`, which may quote code, an unquoted value is removed only if it looks like a secret. In a `word` of a
  // command and in a shell `script`, the value of every secret name is removed.
  enum class Kind { text, word, script };
  std::string text(std::string_view raw, Kind kind = Kind::text) const;
  std::vector<std::string> words(const std::vector<std::string>& command) const;
  // Redacts every string of a JSON document, in the layout of write_json. Empty if it is not JSON, or nested too
  // deeply.
  std::string json(std::string_view document) const;

 private:
  std::vector<std::string> homes_, users_, hosts_;
};

}  // namespace cudadiag::report
