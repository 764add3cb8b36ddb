// Removes from a report whatever concerns only its reader's machine, before it is shared. Secrets are recognised by the
// names that they are given to and by their shapes; one that has neither is not found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::report {

// The words of a command with its secrets taken out, and nothing else. To be done before they are quoted for a shell.
std::vector<std::string> without_secrets(const std::vector<std::string>& command);

class Redaction {
 public:
  // `homes`: folders; `users` and `hosts`: names.
  Redaction(std::vector<std::string> homes, std::vector<std::string> users, std::vector<std::string> hosts);

  // In `text`, which may quote code, an unquoted value is removed if it looks like a secret; in a word of a command and
  // in a shell's script, every value of a secret's name is removed.
  enum class Kind { text, word, script };
  std::string text(std::string_view raw, Kind kind = Kind::text) const;
  std::vector<std::string> words(const std::vector<std::string>& command) const;
  // Treats every string of a JSON document, in the layout of write_json. Empty if it is not JSON, or nested too deep.
  std::string json(std::string_view document) const;

 private:
  std::vector<std::string> homes_, users_, hosts_;
};

}  // namespace cudadiag::report
