// Removes secrets, and facts about people and machines, from a report before it is shared. Recognises a secret by the
// name of its variable or option, or by its shape. Other secrets are not found.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/facts/report_model.h"

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

// ---- secret_patterns.cc

inline bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
inline bool is_name(char c) { return is_alnum(c) || c == '_'; }

// Returns whether the name has no lower-case letter, as is usual for environment variables.
bool is_capitals(std::string_view name);

// Accepts "HF_TOKEN", "api-key", "wandb_api_key" and "AccountKey", but not "tokenizer" or "num_tokens". A name in
// capitals counts as an environment variable, in which any part of the name may match.
bool is_secret_name(std::string_view name);

// Returns whether the name ends in the word "key", as in "key" and "wandb-key". The value may be a secret, or the name
// of a field.
bool is_key_name(std::string_view name);

// Returns whether the value of an option with this name can be a secret: "--key k3yvalue" and "--wandb-key name", but
// not "--key name", "--sort-key name" or "--key 3".
bool is_key_of_option(std::string_view name, std::string_view value);

// Returns the length of the token with which the text begins, if it has the shape that a service documents for its
// tokens; otherwise 0.
std::size_t known_token(std::string_view text);

// Returns the length of a key of W&B with which the text begins; otherwise 0. It looks like a commit id, so ask only
// where W&B is named before it.
std::size_t wandb_key(std::string_view text);
bool names_wandb(std::string_view text);

// Returns whether a call of this name takes a secret: "login", "client.authenticate", "HTTPBasicAuth".
bool is_login_name(std::string_view name);

// Returns whether the word is an option such as "--token" or "-pwd", whose value is the next word.
bool is_secret_option(std::string_view word);

// Returns whether the value is long and contains both letters and digits.
bool looks_random(std::string_view value);

}  // namespace cudadiag::report
