// Removes secrets, and facts about people and machines, from a report before it is shared. Recognises a secret by the
// name of its variable or option, or by its shape. Other secrets are not found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns the words of a command without its secrets; removes nothing else. Call this before the words are quoted for a
// shell.
std::vector<std::string> without_secrets(const std::vector<std::string>& command);

class Redaction {
 public:
  // `homes` are folders; `users` and `hosts` are names. If all are empty, only secrets are removed.
  Redaction(std::vector<std::string> homes, std::vector<std::string> users, std::vector<std::string> hosts);

  // `text` may quote code, so an unquoted value is removed only if it looks like a secret. In a `word` of a command and
  // in a shell `script`, the value of every variable or option with a secret's name is removed.
  enum class Kind { text, word, script };
  std::string text(std::string_view raw, Kind kind = Kind::text) const;
  std::vector<std::string> words(const std::vector<std::string>& command) const;
  // Redacts every string of a JSON document, and formats the result like write_json(). Returns "" if the document is
  // not JSON or is nested too deeply.
  std::string json(std::string_view document) const;

 private:
  std::vector<std::string> homes_, users_, hosts_;
  bool removes_users_ = false;  // also those whose names are unknown, in /home/NAME
};

// Removes secrets from the command lines of a report that other people will see: a page, SARIF or a bundle.
diagnose::Diagnosis without_secret_arguments(diagnose::Diagnosis report);

}  // namespace cudadiag::report
