#include "report/sharing/secret_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace cudadiag::report {
namespace {

constexpr std::size_t kLeastToken = 20, kLeastRandom = 16;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return is_alnum(c) || c == '_'; }

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Accepts "auth", "authorization" and "authtoken", but not "author".
bool is_about_authority(std::string_view word) {
  return word.starts_with("auth") && (!word.starts_with("author") || word.starts_with("authoriz"));
}

// Accepts "pass" and "dbpass", but not "bypass".
bool is_pass(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kOthers = {"bypass", "compass", "encompass", "surpass", "trespass"};
  return word.ends_with("pass") && std::find(kOthers.begin(), kOthers.end(), word) == kOthers.end();
}

// Returns true if "pass" after this word does not mean a password, as in "forward_pass".
bool counts_passes(std::string_view word) {
  static constexpr std::array<std::string_view, 13> kWords = {
      "forward", "backward", "fwd", "bwd", "first", "second", "third", "last", "next", "single", "one", "two", "multi"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Removes the first word of a name, and returns it in lower case. A word ends at "_" or "-" or, in camel case, at the
// next capital.
std::string take_word(std::string_view& name, bool capitals) {
  std::string word;
  bool small = false;
  while (!name.empty() && name.front() != '_' && name.front() != '-') {
    const bool hump = !capitals && small && name.front() >= 'A' && name.front() <= 'Z';
    if (hump) return word;
    small = name.front() >= 'a' && name.front() <= 'z';
    word += lower(name.front());
    name.remove_prefix(1);
  }
  if (!name.empty()) name.remove_prefix(1);
  return word;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_capitals(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kParts = {"TOKEN", "KEY",    "SECRET", "PASSWORD",  "CREDENTIAL",
                                                             "AUTH",  "PASSWD", "_PWD",   "PASSPHRASE"};
  static constexpr std::array<std::string_view, 12> kWords = {"token",      "secret",      "password", "passwd",
                                                              "pwd",        "pw",          "apikey",   "passphrase",
                                                              "credential", "credentials", "cred",     "creds"};
  static constexpr std::array<std::string_view, 5> kKeys = {"api", "access", "private", "secret", "account"};
  const bool capitals = is_capitals(name);
  if (capitals && std::any_of(kParts.begin(), kParts.end(), [&](auto part) { return name.find(part) != name.npos; })) {
    return true;
  }
  std::string before;
  while (!name.empty()) {
    const std::string word = take_word(name, capitals);
    if (is_pass(word) && name.empty()) return !counts_passes(before) && before != "cudadiag";
    if (!capitals && (is_one_of(word, kWords) || is_about_authority(word))) return true;
    if (word == "key" && is_one_of(before, kKeys)) return true;
    if (word == "signature" && before == "amz") return true;
    before = word;
  }
  return false;
}

bool is_secret_option(std::string_view word) {
  if (!word.starts_with('-') || word.find('=') != word.npos) return false;
  return is_secret_name(word.substr(word.starts_with("--") ? 2 : 1));
}

bool is_known_token(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {"hf_", "ghp_", "gho_",  "ghs_", "github_pat_",
                                                                 "sk-", "xox",  "glpat", "AKIA", "eyJ"};
  // Ordinary names may also begin with these prefixes, so the word must contain a digit.
  static constexpr std::array<std::string_view, 9> kWithDigits = {"ghu_",     "ghr_",     "npm_",     "AIza",    "ASIA",
                                                                  "sk_live_", "sk_test_", "rk_live_", "rk_test_"};
  const auto begins = [&](auto prefix) { return word.starts_with(prefix); };
  if (word.size() < kLeastToken) return false;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) ||
         (has_digit(word) && std::any_of(kWithDigits.begin(), kWithDigits.end(), begins));
}

bool looks_random(std::string_view value) {
  const auto has = [&](auto test) { return std::any_of(value.begin(), value.end(), test); };
  return value.size() >= kLeastRandom && has_digit(value) &&
         has([](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }) &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return is_name(c) || std::string_view("-+/=.").find(c) != std::string_view::npos; });
}

}  // namespace cudadiag::report
