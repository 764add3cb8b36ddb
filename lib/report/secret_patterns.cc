// Recognises secrets by the names of their variables or options, and by the shapes of known tokens.
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "report/redaction.h"
#include "wire/name_patterns.h"

namespace cudadiag::report {
namespace {

using wire::library_paths::equals_any;

constexpr std::size_t kLeastRandom = 16;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Accepts "auth", "authorization" and "authtoken", but not "author".
bool is_about_authority(std::string_view word) {
  return word.starts_with("auth") && (!word.starts_with("author") || word.starts_with("authoriz"));
}

// Accepts "pass" and "dbpass", but not "bypass".
bool is_pass(std::string_view word) {
  static constexpr std::string_view kOthers[] = {"bypass", "compass", "encompass", "surpass", "trespass"};
  return word.ends_with("pass") && !equals_any(word, kOthers);
}

// Returns true if "pass" after this word does not mean a password, as in "forward_pass".
bool counts_passes(std::string_view word) {
  static constexpr std::string_view kWords[] = {"forward", "backward", "fwd",    "bwd", "first", "second", "third",
                                                "last",    "next",     "single", "one", "two",   "multi"};
  return equals_any(word, kWords);
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

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_capitals(std::string_view name) {
  return std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_secret_name(std::string_view name) {
  static constexpr std::string_view kParts[] = {"TOKEN", "KEY",    "SECRET", "PASSWORD",  "CREDENTIAL",
                                                "AUTH",  "PASSWD", "_PWD",   "PASSPHRASE"};
  static constexpr std::string_view kWords[] = {"token",  "secret",     "password",   "passwd",      "pwd",  "pw",
                                                "apikey", "passphrase", "credential", "credentials", "cred", "creds"};
  static constexpr std::string_view kKeys[] = {"api", "access", "private", "secret", "account"};
  const bool capitals = is_capitals(name);
  if (capitals && std::ranges::any_of(kParts, [&](auto part) { return name.find(part) != name.npos; })) {
    return true;
  }
  std::string before;
  while (!name.empty()) {
    const std::string word = take_word(name, capitals);
    if (is_pass(word) && name.empty()) return !counts_passes(before) && before != "cudadiag";
    if (!capitals && (equals_any(word, kWords) || is_about_authority(word))) return true;
    if (word == "key" && equals_any(before, kKeys)) return true;
    if (word == "signature" && before == "amz") return true;
    before = word;
  }
  return false;
}

bool is_key_name(std::string_view name) {
  const bool capitals = is_capitals(name);
  std::string word;
  while (!name.empty()) word = take_word(name, capitals);
  return word == "key";
}

bool is_key_of_option(std::string_view name, std::string_view value) {
  // "--sort-key", "--image-key" and the like name a field.
  static constexpr std::string_view kOfFields[] = {
      "sort",   "primary", "foreign", "public", "group", "order", "image", "text", "label",  "feature", "input",
      "output", "target",  "dict",    "cache",  "data",  "join",  "index", "map",  "metric", "monitor", "state"};
  const bool capitals = is_capitals(name);
  std::string before, word;
  while (!name.empty()) before = std::exchange(word, take_word(name, capitals));
  if (value.empty() || value.starts_with('-')) return false;
  if (!before.empty() && !equals_any(before, kOfFields)) return true;
  return value.size() >= 8 && has_digit(value) && std::ranges::any_of(value, is_letter) &&
         value.find_first_of("/.") == value.npos;
}

namespace {

enum class Alphabet { alnum, name, hex, capitals };

struct TokenShape {
  std::string_view prefix;
  Alphabet rest;
  std::size_t least;    // characters after the prefix
  bool dotted = false;  // parts may follow, each after a dot
};

// Most lengths are lower than the published ones, which may change.
constexpr TokenShape kShapes[] = {
    {"hf_", Alphabet::alnum, 20},   // Hugging Face
    {"ghp_", Alphabet::alnum, 20},  // GitHub, down to the next service
    {"gho_", Alphabet::alnum, 20},       {"ghu_", Alphabet::alnum, 20},
    {"ghs_", Alphabet::name, 20},        {"ghr_", Alphabet::alnum, 20},
    {"github_pat_", Alphabet::name, 20}, {"glpat-", Alphabet::name, 16, true},  // GitLab
    {"sk-", Alphabet::name, 17},                                                // OpenAI, Anthropic
    {"xox", Alphabet::name, 17},                                                // Slack
    {"xapp-", Alphabet::name, 17},       {"dop_v1_", Alphabet::hex, 32},        // DigitalOcean
    {"doo_v1_", Alphabet::hex, 32},      {"dor_v1_", Alphabet::hex, 32},
    {"wandb_v1_", Alphabet::name, 20},                                  // W&B
    {"AKIA", Alphabet::capitals, 16},                                   // AWS
    {"ASIA", Alphabet::capitals, 16},    {"AIza", Alphabet::name, 20},  // Google
    {"npm_", Alphabet::alnum, 20},       {"pypi-", Alphabet::name, 50},
    {"sk_live_", Alphabet::alnum, 16},  // Stripe
    {"sk_test_", Alphabet::alnum, 16},   {"rk_live_", Alphabet::alnum, 16},
    {"rk_test_", Alphabet::alnum, 16},   {"eyJ", Alphabet::name, 17, true},  // JSON web tokens
};

bool is_of(Alphabet alphabet, char c) {
  switch (alphabet) {
    case Alphabet::alnum:
      return is_alnum(c);
    case Alphabet::name:
      return is_name(c) || c == '-';
    case Alphabet::hex:
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    case Alphabet::capitals:
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
  }
  return false;
}

// Returns where the run of such characters ends.
std::size_t end_of(Alphabet alphabet, std::string_view text, std::size_t at) {
  while (at < text.size() && is_of(alphabet, text[at])) ++at;
  return at;
}

bool ends_at(std::string_view text, std::size_t at) { return at == text.size() || !is_name(text[at]); }

// "NUMBER:SECRET"; in an address, "bot" precedes it.
std::size_t telegram_token(std::string_view text) {
  constexpr std::size_t kSecret = 35, kLeastDigits = 8, kMostDigits = 10;
  const std::size_t begin = text.starts_with("bot") ? 3 : 0;
  const std::size_t colon = std::min(text.find_first_not_of("0123456789", begin), text.size());
  if (colon - begin < kLeastDigits || colon - begin > kMostDigits || !text.substr(colon).starts_with(':')) return 0;
  const std::size_t end = end_of(Alphabet::name, text, colon + 1);
  return end == colon + 1 + kSecret ? end : 0;
}

// "SG.ID.SECRET"
std::size_t sendgrid_token(std::string_view text) {
  constexpr std::size_t kLeastId = 16, kLeastSecret = 32;
  if (!text.starts_with("SG.")) return 0;
  const std::size_t dot = end_of(Alphabet::name, text, 3);
  if (dot < 3 + kLeastId || !text.substr(dot).starts_with('.')) return 0;
  const std::size_t end = end_of(Alphabet::name, text, dot + 1);
  return end - dot - 1 >= kLeastSecret ? end : 0;
}

}  // namespace

std::size_t known_token(std::string_view text) {
  for (const TokenShape& shape : kShapes) {
    if (!text.starts_with(shape.prefix)) continue;
    std::size_t end = end_of(shape.rest, text, shape.prefix.size());
    const std::string_view rest = text.substr(shape.prefix.size(), end - shape.prefix.size());
    // Ordinary names may have these shapes too, but seldom 20 letters without '_', or a digit among them.
    const bool may_be_name = shape.rest != Alphabet::alnum && !has_digit(rest);
    if (rest.size() < shape.least || !ends_at(text, end) || may_be_name) continue;
    while (shape.dotted && end + 1 < text.size() && text[end] == '.' && is_name(text[end + 1])) {
      end = end_of(Alphabet::name, text, end + 1);
    }
    return end;
  }
  return std::max(telegram_token(text), sendgrid_token(text));
}

std::size_t wandb_key(std::string_view text) {
  constexpr std::size_t kDigits = 40;
  return end_of(Alphabet::hex, text, 0) == kDigits && ends_at(text, kDigits) ? kDigits : 0;
}

bool names_wandb(std::string_view text) { return text.find("wandb") != text.npos || text.find("WANDB") != text.npos; }

bool is_login_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {"login",   "log_in",       "signin",    "sign_in",
                                                "sign-in", "authenticate", "basicauth", "basic_auth"};
  std::string word;
  for (const char c : name.substr(name.rfind('.') + 1)) word += lower(c);
  return std::ranges::any_of(kNames, [&](std::string_view end) { return word.ends_with(end); });
}

bool is_secret_option(std::string_view word) {
  if (!word.starts_with('-') || word.find('=') != word.npos) return false;
  return is_secret_name(word.substr(word.starts_with("--") ? 2 : 1));
}

bool looks_random(std::string_view value) {
  const auto has = [&](auto test) { return std::ranges::any_of(value, test); };
  return value.size() >= kLeastRandom && has_digit(value) &&
         has([](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }) && std::ranges::all_of(value, [](char c) {
           return is_name(c) || std::string_view("-+/=.").find(c) != std::string_view::npos;
         });
}

}  // namespace cudadiag::report
