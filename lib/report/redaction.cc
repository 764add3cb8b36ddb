#include "report/redaction.h"

#include <algorithm>
#include <cctype>

#include "base/json_limits.h"
#include "report/json_schema.h"

namespace cudadiag::report {

namespace {

constexpr const char* kRedacted = "REDACTED";

// Returns whether the value looks like a secret key. A key of a table, such as "model.layers.0.weight", does not.
bool is_key_text(std::string_view value) { return looks_random(value) && value.find_first_of("_-/.") == value.npos; }

// Replaces every occurrence of the name that is not part of a longer name.
std::string without_name(const std::string& text, const std::string& name, const std::string& instead) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; !name.empty() && (at = text.find(name, at)) != std::string::npos; at += name.size()) {
    const std::size_t end = at + name.size();
    const bool apart = (at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end]));
    if (!apart) continue;
    out.append(text, from, at - from).append(instead);
    from = end;
  }
  return out + text.substr(from);
}

// Turns "/home/ada/x" into "/home/USER/x", for any user.
std::string without_user_of(const std::string& text, std::string_view root) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(root, at)) != std::string::npos;) {
    at += root.size();
    std::size_t end = at;
    while (end < text.size() && (is_name(text[end]) || text[end] == '-' || text[end] == '.')) ++end;
    out.append(text, from, at - from).append(end == at ? "" : "USER");
    from = at = end;
  }
  return out + text.substr(from);
}

// Returns the position of the value in the annotations "str = value" and "Optional[str] = value"; otherwise `at`.
std::size_t behind_annotation(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_name(text[end]) || std::string_view(".[]|, ").find(text[end]) != text.npos)) ++end;
  const bool given = end > at && end + 1 < text.size() && text[end] == '=' && text[end + 1] != '=';
  return given ? std::min(text.find_first_not_of(' ', end + 1), text.size()) : at;
}

bool is_quote(char c) { return c == '"' || c == '\''; }

// Returns the position of the quote in rb"value"; otherwise `at`.
std::size_t behind_prefix(std::string_view text, std::size_t at) {
  const std::size_t quote = text.find_first_not_of("rRbBuUfF", at);
  return quote != text.npos && quote - at <= 2 && is_quote(text[quote]) ? quote : at;
}

// Returns the quotes that begin at `at`: one, or three of the same kind.
std::string_view quotes_at(std::string_view text, std::size_t at) {
  const std::string_view three = text.substr(at, 3);
  return three == "\"\"\"" || three == "'''" ? three : three.substr(0, 1);
}

// Returns where the text between quotes ends. Single quotes end at the end of the line at the latest.
std::size_t end_of_quoted(std::string_view text, std::size_t begin, std::string_view quotes) {
  const std::size_t end =
      quotes.size() > 1 ? text.find(quotes, begin) : text.find_first_of(std::string{quotes.front(), '\n'}, begin);
  return std::min(end, text.size());
}

// Returns the position of the second argument of f("NAME", "value"). [begin, end) is the name with its quotes. If the
// text is not a call like this, returns `end`.
std::size_t second_argument(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin < 2 || text[begin - 1] != '(' || !is_name(text[begin - 2]) || end >= text.size() || text[end] != ',') {
    return end;
  }
  const std::size_t at = text.find_first_not_of(' ', end + 1);
  const std::size_t quote = at == text.npos ? end : behind_prefix(text, at);
  return is_quote(text[quote]) ? quote : end;
}

// The position of a secret's value; empty if the secret has no value.
struct Value {
  std::size_t begin = 0, end = 0;
  bool quoted = false;
  bool of_subscript = false;  // x["token"] = …
  bool tight = false;         // name=…, name: …
};
Value value_behind(std::string_view text, std::size_t name, std::size_t at, bool option, const char* closing) {
  const auto skip = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  Value value;
  if (name > 0 && at < text.size() && is_quote(text[at]) && text[name - 1] == text[at]) {
    if (const std::size_t second = second_argument(text, name - 1, at + 1); second != at + 1) {
      value.quoted = true;
      const std::string_view quotes = quotes_at(text, second);
      value.begin = second + quotes.size();
      value.end = end_of_quoted(text, value.begin, quotes);
      return value;
    }
  }
  if (at < text.size() && is_quote(text[at])) {  // "token": "…"
    ++at;
    value.of_subscript = at < text.size() && text[at] == ']';
    if (value.of_subscript) ++at;
  }
  const std::size_t before = at;
  skip();
  value.tight = at == before;
  const bool given = at < text.size() && (text[at] == '=' || text[at] == ':');
  const bool may_be_annotated = given && text[at] == ':';
  if (given) ++at;
  if (!given && (!option || at == before)) return {};
  if (at < text.size() && text[at] == '=') return {};  // a comparison
  skip();
  if (may_be_annotated) at = behind_annotation(text, at);
  at = behind_prefix(text, at);
  value.quoted = at < text.size() && is_quote(text[at]);
  if (value.quoted) {
    const std::string_view quotes = quotes_at(text, at);
    value.begin = at + quotes.size();
    value.end = end_of_quoted(text, value.begin, quotes);
  } else {
    value.begin = at;
    value.end = std::min(text.find_first_of(closing, value.begin), text.size());
  }
  return value;
}

// Returns where the credentials in "Bearer TOKEN" or "Basic TOKEN" end; `at` is where the scheme ends. Returns `at` if
// there are no credentials.
std::size_t end_of_credentials(std::string_view text, std::string_view scheme, std::size_t at) {
  if (scheme != "Bearer" && scheme != "bearer" && scheme != "Basic") return at;
  const std::size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
  std::size_t end = begin;
  while (end < text.size() && (is_name(text[end]) || std::string_view("-._~+/=").find(text[end]) != text.npos)) ++end;
  return begin == at || end == begin ? at : end;
}

// Returns whether the value is $NAME, ${NAME} or $1, which reveal nothing.
bool is_variable(std::string_view value) {
  return value.size() > 1 && value.front() == '$' &&
         std::all_of(value.begin() + 1, value.end(), [](char c) { return is_name(c) || c == '{' || c == '}'; });
}

// Returns true if the value must be removed. In code, keeps more values, because most of them are names of variables.
bool is_taken_out(std::string_view name, const Value& value, std::string_view content, bool option, bool is_code) {
  if (content.empty()) return false;
  if (!is_secret_name(name) && is_key_name(name)) {
    return (value.quoted && is_key_text(content)) || (option && is_key_of_option(name, content));
  }
  if (value.quoted || option || looks_random(content)) return true;
  if (is_capitals(name)) return !value.of_subscript;
  return !is_code && value.tight && !is_variable(content);
}

// Returns whether [begin, end) is a parameter of a connection string or a URL: "Password" in "Server=db;Password=x",
// "sig" in "?sv=1&sig=x".
constexpr const char* kParameterEnds = " \t\n\"';&";
bool is_parameter(std::string_view text, std::size_t begin, std::size_t end) {
  return begin > 0 && std::string_view(";?&\"'").find(text[begin - 1]) != text.npos && end + 1 < text.size() &&
         text[end] == '=' && std::string_view("={$%").find(text[end + 1]) == text.npos;
}

// Returns the length of the token at `at`; 0 if there is none.
std::size_t token_at(std::string_view text, std::size_t at) {
  if (const std::size_t length = known_token(text.substr(at))) return length;
  const std::size_t key = wandb_key(text.substr(at));
  if (key == 0) return 0;
  const std::size_t line = text.rfind('\n', at) + 1;
  return names_wandb(text.substr(line, at - line)) ? key : 0;
}

std::string without_secrets(std::string_view text, Redaction::Kind kind) {
  const bool is_code = kind == Redaction::Kind::text;
  const char* closing = kind == Redaction::Kind::word     ? " \t\n"
                        : kind == Redaction::Kind::script ? " \t\n;)|&"
                                                          : " \t\n\"',;)]}&";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_name(text[at]) || (at > 0 && is_name(text[at - 1]))) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() &&
           (is_name(text[end]) || (text[end] == '-' && end + 1 < text.size() && is_alnum(text[end + 1]))))
      ++end;
    const std::string_view name = text.substr(at, end - at);
    if (const std::size_t length = token_at(text, at)) {
      out += kRedacted;
      at += length;
      continue;
    }
    out += name;
    const bool option = at >= 2 && text.substr(at - 2, 2) == "--";
    at = end_of_credentials(text, name, end);
    if (at != end) out.append(" ").append(kRedacted);
    const bool parameter = is_parameter(text, end - name.size(), end);
    if (!is_key_name(name) && !is_secret_name(name) && !(parameter && name == "sig")) continue;
    const Value value = value_behind(text, end - name.size(), end, option, parameter ? kParameterEnds : closing);
    const std::string_view content = text.substr(value.begin, value.end - value.begin);
    if (!(parameter && !content.empty()) && !is_taken_out(name, value, content, option, is_code)) continue;
    out.append(text.substr(end, value.begin - end)).append(kRedacted);
    at = end_of_credentials(text, content, value.end);
  }
  return out;
}

// Removes the password from user:password@host. Keeps "mailto:ada@host", and the digest of an image,
// "name:tag@sha256:…".
std::string without_passwords(const std::string& text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t sign = 0; (sign = text.find('@', sign)) != std::string::npos; ++sign) {
    const std::size_t begin = text.find_last_of(" \t\n\"'`,;=(/@{}", sign - (sign > 0 ? 1 : 0)) + 1;
    const std::string_view login = std::string_view(text).substr(begin, sign - begin),
                           host = std::string_view(text).substr(sign + 1);
    const std::size_t colon = login.find(':');
    if (begin < from || colon == login.npos || colon + 1 == login.size() || host.empty() || !is_alnum(host.front()))
      continue;
    const std::string_view user = login.substr(0, colon);
    const bool is_user = std::isalpha(static_cast<unsigned char>(user.empty() ? '0' : user.front())) != 0 &&
                         std::ranges::all_of(user, [](char c) { return is_name(c) || c == '-' || c == '.'; });
    if (!is_user || user == "mailto" || host.starts_with("sha256:")) continue;
    out.append(text, from, begin + colon + 1 - from).append(kRedacted);
    from = sign;
  }
  return out + text.substr(from);
}

// Removes the login from https://user:password@host.
std::string without_logins(const std::string& text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'", at), text.size());
    const std::size_t sign = text.find('@', at);
    if (sign >= end) continue;
    out.append(text, from, at - from).append(kRedacted);
    from = at = sign;
  }
  return out + text.substr(from);
}

// Redacts "curl -u ada:x" and "mysql -px" in a script, or in a program that calls them.
std::string without_login_options(const std::string& text, Redaction::Kind kind) {
  if (kind == Redaction::Kind::word) return text;
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(" -", at)) != std::string::npos;) {
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::string_view before = std::string_view(text).substr(line, at - line),
                           rest = std::string_view(text).substr(at);
    const bool user = rest.starts_with(" -u ") || rest.starts_with(" --user ");
    const bool password =
        rest.starts_with(" -p") && (before.find("mysql") != before.npos || before.find("mariadb") != before.npos ||
                                    before.find("sshpass") != before.npos);
    at = user ? text.find(' ', at + 1) + 1 : at + (password ? 3 : 2);
    const std::size_t end = std::min(text.find_first_of(" \t\n\"'", at), text.size());
    const std::size_t colon = std::string_view(text).substr(at, end - at).find(':');
    if (end == at || !(password || (user && colon != std::string::npos))) continue;
    out.append(text, from, at - from).append(kRedacted);
    from = at = end;
  }
  return out + text.substr(from);
}

// Removes the secret from https://hooks.slack.com/services/T0/B0/SECRET.
std::string without_hooks(const std::string& text) {
  constexpr std::string_view kHook = "hooks.slack.com/services/";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(kHook, at)) != std::string::npos;) {
    at += kHook.size();
    const std::size_t end = std::min(text.find_first_of(" \t\n\"'<>)", at), text.size());
    out.append(text, from, at - from).append(end == at ? "" : kRedacted);
    from = at = end;
  }
  return out + text.substr(from);
}

// Removes the strings in login(user, "x"), which need no telling names. Named arguments are judged by their names.
std::string without_login_arguments(const std::string& text) {
  constexpr std::size_t kLongest = 4000;  // a call that seems longer is not one
  const std::string_view all = text;
  std::string out;
  std::size_t from = 0;
  for (std::size_t open = 0; (open = all.find('(', open)) != all.npos;) {
    std::size_t begin = open;
    while (begin > 0 && is_name(all[begin - 1])) --begin;
    const std::string_view name = all.substr(begin, open - begin);
    ++open;
    if (!is_login_name(name)) continue;
    int depth = 1;
    char before = '(';  // the latest character that is no blank
    const std::size_t last = std::min(all.size(), open + kLongest);
    for (std::size_t at = open; at < last && depth > 0; open = ++at) {
      if (const std::size_t quote = behind_prefix(all, at); is_quote(all[quote])) {
        const std::string_view quotes = quotes_at(all, quote);
        const std::size_t value = quote + quotes.size(), end = end_of_quoted(all, value, quotes);
        if (depth == 1 && (before == '(' || before == ',') && end > value) {
          out.append(text, from, value - from).append(kRedacted);
          from = end;
        }
        at = std::min(end + quotes.size(), all.size()) - 1;
        before = '"';
        continue;
      }
      if (all[at] == '(' || all[at] == '[' || all[at] == '{') ++depth;
      if (all[at] == ')' || all[at] == ']' || all[at] == '}') --depth;
      if (std::isspace(static_cast<unsigned char>(all[at])) == 0) before = all[at];
    }
  }
  return out + text.substr(from);
}

// Removes the text between the opening and the closing line of a private key.
std::string without_private_keys(const std::string& text) {
  constexpr std::string_view kOpening = "PRIVATE KEY-----", kClosing = "-----END";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(kOpening, at)) != std::string::npos;) {
    at += kOpening.size();
    if (text.find("-----BEGIN", from) >= at) continue;  // the closing line
    const std::size_t end = std::min(text.find(kClosing, at), text.size());
    out.append(text, from, at - from).append(kRedacted);
    from = at = end;
  }
  return out + text.substr(from);
}

std::string without_shapes(const std::string& text, Redaction::Kind kind) {
  const std::string open =
      without_login_options(without_hooks(without_passwords(without_logins(without_private_keys(text)))), kind);
  return without_secrets(without_login_arguments(open), kind);
}

// Returns whether the word is a program whose option -p takes a password.
bool takes_password_by_p(std::string_view word) {
  const std::string_view name = word.substr(word.rfind('/') + 1);
  return name.starts_with("mysql") || name.starts_with("mariadb") || name == "sshpass";
}

bool is_number(std::string_view word) {
  return std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

// Returns whether the word is an option -p with a password attached: "-phunter2", but not "-p8080" or "-pthread".
bool has_password_attached(std::string_view word, bool logs_in) {
  if (word.size() < 3 || !word.starts_with("-p")) return false;
  const std::string_view value = word.substr(2);
  const bool has_digit = std::ranges::any_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
  return logs_in || (has_digit && !is_number(value) && value.find_first_of("/.=:,") == value.npos);
}

// Returns true if `word` is the secret argument of `option`, the word before it.
bool is_value_of(std::string_view option, std::string_view word) {
  if (option == "-u" || option == "--user") return word.find(':') != word.npos;
  if (option == "-p") return !is_number(word) && !word.starts_with('-');
  if (is_secret_option(option)) return true;
  const bool long_option = option.starts_with("--") && option.find('=') == option.npos;
  return long_option && is_key_name(option.substr(2)) && is_key_of_option(option.substr(2), word);
}

// Finds the words of a command that are secrets because of the words before them.
class SecretWords {
 public:
  // Must be called for each word, in their order.
  bool contain(const std::string& word) {
    wandb_ |= names_wandb(word);
    const bool secret = is_value_of(option_, word) || (wandb_ && !word.empty() && wandb_key(word) == word.size());
    option_ = secret ? "" : word;
    return secret;
  }

 private:
  std::string option_;
  bool wandb_ = false;
};

}  // namespace

Redaction::Redaction(std::vector<std::string> homes, std::vector<std::string> users, std::vector<std::string> hosts)
    : homes_(std::move(homes)), users_(std::move(users)), hosts_(std::move(hosts)) {
  removes_users_ = !homes_.empty() || !users_.empty();
  // Also removes the first label of each host name, because a text may contain only this label.
  for (std::size_t i = hosts_.size(); i-- > 0;) {
    const std::size_t dot = hosts_[i].find('.');
    if (dot != std::string::npos) hosts_.push_back(hosts_[i].substr(0, dot));
  }
  std::erase_if(hosts_, [](const std::string& host) { return host.size() < 2 || host == "localhost"; });
  // "root" and one-letter names do not identify a person.
  std::erase_if(users_, [](const std::string& user) { return user.size() < 2 || user == "root"; });
  std::erase_if(homes_, [](const std::string& home) { return home.size() < 2; });
  const auto longer = [](const std::string& a, const std::string& b) { return a.size() > b.size(); };
  for (auto* names : {&homes_, &users_, &hosts_}) std::ranges::stable_sort(*names, longer);
}

std::string Redaction::text(std::string_view raw, Kind kind) const {
  std::string text(raw);
  for (const std::string& home : homes_) text = without_name(text, home, "~");
  if (removes_users_) {
    for (const char* root : {"/home/", "/Users/"}) text = without_user_of(text, root);
  }
  for (const std::string& host : hosts_) text = without_name(text, host, "HOST");
  for (const std::string& user : users_) text = without_name(text, user, "USER");
  return without_shapes(text, kind);
}

std::vector<std::string> Redaction::words(const std::vector<std::string>& command) const {
  std::vector<std::string> words = without_secrets(command);
  for (std::string& word : words) word = text(word, Kind::word);
  return words;
}

std::vector<std::string> without_secrets(const std::vector<std::string>& command) {
  const bool logs_in = std::ranges::any_of(command, takes_password_by_p);
  std::vector<std::string> words;
  SecretWords secrets;
  for (const std::string& word : command) {
    words.push_back(secrets.contain(word)                  ? kRedacted
                    : has_password_attached(word, logs_in) ? std::string("-p") + kRedacted
                                                           : without_shapes(word, Redaction::Kind::word));
  }
  return words;
}

namespace {

void redact(Json& node, const Redaction& redaction) {
  if (node.is_string()) {
    node = redaction.text(node.get<std::string>());
    return;
  }
  SecretWords secrets;  // an array may be a command line
  for (Json& child : node) {
    if (node.is_array() && child.is_string() && secrets.contain(child.get<std::string>())) {
      child = kRedacted;
    } else if (child.is_string() || child.is_structured()) {
      redact(child, redaction);
    }
  }
}

}  // namespace

std::string Redaction::json(std::string_view document) const {
  constexpr base::JsonLimits kLimits{.depth = 200, .parts = SIZE_MAX};  // redact() recurses once for each level
  if (!base::is_json_within(document, kLimits)) return "";
  Json parsed = Json::parse(document);
  redact(parsed, *this);
  return parsed.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

diagnose::Diagnosis without_secret_arguments(diagnose::Diagnosis report) {
  report.command = without_secrets(report.command);
  for (diagnose::ProcessLine& process : report.processes) process.argv = without_secrets(process.argv);
  return report;
}

}  // namespace cudadiag::report
