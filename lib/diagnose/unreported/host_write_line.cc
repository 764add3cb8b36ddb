// Finds the statement that changed host memory between two calls of a thread, from the text of the program's sources.
//
// A statement is named only if it writes through an index, a pointer or a known function, and if no other statement
// that the thread may have executed between the calls can write to memory that is not its own. A statement that calls a
// function of the program can. Statements that only call CUDA cannot, because the recorder would have seen their call.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/unreported/findings.h"
#include "symbolize/source_file.h"

namespace cudadiag::diagnose {
namespace {

constexpr int kMostBetween = 200;  // lines between the two calls; more are not read
// An excerpt cuts lines of 200 characters. Regular expressions need stack for each character of a statement.
constexpr std::size_t kLongestLine = 190, kLongestStatement = 1000;

using Match = std::regex;
constexpr auto kSyntax = std::regex::ECMAScript | std::regex::optimize;

bool is(const std::string& text, const Match& match) { return std::regex_match(text, match); }

// The lines of a file, without comments, and the blocks around them. The blocks of Python follow from the indentation,
// those of C++ from the braces.
class Source {
 public:
  Source(const std::string& file, bool python) : python_(python) {
    constexpr int kAll = 1 << 20;
    for (const symbolize::SourceLine& line : symbolize::source_excerpt(file, 1, kAll)) {
      std::string text = symbolize::without_comment(line.text, python ? "#" : "//");
      text.resize(text.find_last_not_of(" \\") + 1);
      lines_.push_back(std::move(text));
    }
  }

  int size() const { return static_cast<int>(lines_.size()); }
  const std::string& at(int line) const {
    static const std::string none;
    return line >= 1 && line <= size() ? lines_[static_cast<std::size_t>(line) - 1] : none;
  }
  std::string text(int line) const {
    const std::string& whole = at(line);
    return is_blank(line) ? "" : whole.substr(indent(line));
  }
  bool is_blank(int line) const { return at(line).find_first_not_of(' ') == std::string::npos; }

  // The lines between its header and its end. `kind`: the header's.
  enum class Kind { other, loop, function };
  struct Block {
    int header = 0, end = 0;
    Kind kind = Kind::other;
  };
  std::optional<Block> around(int line) const { return python_ ? indented(line) : braced(line); }
  std::optional<Block> function(int line) const {
    auto block = around(line);
    while (block && block->kind != Kind::function) block = around(block->header);
    if (!block && python_) return Block{0, size() + 1, Kind::function};
    return block;
  }
  // Returns whether a line defines a Python function with this name.
  bool defines(const std::string& name) const {
    return std::ranges::any_of(
        lines_, [mark = "def " + name + "("](const std::string& each) { return each.find(mark) != std::string::npos; });
  }
  // The innermost loop with both lines in its body.
  std::optional<Block> loop(int first, int second) const {
    for (auto block = around(first); block && block->kind != Kind::function; block = around(block->header)) {
      const bool both = second > block->header && second < block->end;
      if (both && block->kind == Kind::loop) return block;
    }
    return std::nullopt;
  }

 private:
  std::size_t indent(int line) const { return at(line).find_first_not_of(' '); }

  std::optional<Block> indented(int line) const {
    static const Match header("(async +)?(for|while|if|elif|else|def|class|with|try|except|finally|match|case)\\b.*",
                              kSyntax);
    static const Match loop("(async +)?(for|while)\\b.*", kSyntax), function("(async +)?def\\b.*", kSyntax);
    int begin = line - 1;
    while (begin > 0 && (is_blank(begin) || indent(begin) >= indent(line) || !is(text(begin), header))) --begin;
    if (begin == 0) return std::nullopt;
    int end = line + 1;
    while (end <= size() && (is_blank(end) || indent(end) > indent(begin))) ++end;
    return Block{begin, end,
                 is(text(begin), loop)       ? Kind::loop
                 : is(text(begin), function) ? Kind::function
                                             : Kind::other};
  }

  // Returns how many braces the line closes that earlier lines have opened, and how many it leaves open.
  std::pair<int, int> braces(int line) const {
    int closed = 0, open = 0;
    char quote = 0;
    const std::string& text = at(line);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == '\\')
          ++i;
        else if (text[i] == quote)
          quote = 0;
      } else if (text[i] == '"' ||
                 (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
        quote = text[i];
      } else if (text[i] == '{') {
        ++open;
      } else if (text[i] == '}') {
        open > 0 ? --open : ++closed;
      }
    }
    return {closed, open};
  }

  std::optional<Block> braced(int line) const {
    static const Match loop("(\\} *)?(for|while|do)\\b.*", kSyntax);
    static const Match control("(\\} *)?(if|else|switch|try|catch)\\b.*", kSyntax);
    int begin = line, depth = braces(line).first;
    for (; depth >= 0 && --begin > 0;) {
      const auto [closed, open] = braces(begin);
      depth -= open;
      if (depth >= 0) depth += closed;
      if (depth < 0) break;
    }
    if (begin <= 0) return std::nullopt;
    int end = line;
    for (depth = 0; ++end <= size();) {
      const auto [closed, open] = braces(end);
      if (closed > depth) break;
      depth += open - closed;
    }
    const int header = text(begin) == "{" ? begin - 1 : begin;
    const std::string words = text(header);
    const Kind kind = is(words, loop)                                  ? Kind::loop
                      : is(words, control)                             ? Kind::other
                      : words.find_first_of(")]") != std::string::npos ? Kind::function
                                                                       : Kind::other;
    return Block{header, end, kind};
  }

  bool python_;
  std::vector<std::string> lines_;
};

int open_parentheses(const std::string& text) {
  int open = 0;
  for (const char c : text) open += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  return open;
}

enum class Effect { none, writes, unknown };

// `text`: a whole statement of the file.
Effect effect_in_python(const std::string& text, const Source& source) {
  static const Match none(
      "pass|break|continue|return( [\\w.]+)?|else *:|try *:|(if|elif|while) (not )?[\\w.]+ *:|"
      "for [\\w, ()]+ in range\\([^()]*\\) *:|with (torch\\.)?[\\w.]*(stream|no_grad|inference_mode)\\([^()]*\\) "
      "*:|[\\w.]+\\.(synchronize|record|wait_stream|wait_event)\\([\\w.]*\\)|"
      "(time\\.)?sleep\\([\\w. */]*\\)|torch\\.cuda\\.\\w+\\([\\w.]*\\)|\\w+ = [^()=\\[\\]]+",
      kSyntax);
  static const Match writes(
      "[\\w.]+\\[[^=]*\\] *([-+*/%&|^@]|//|\\*\\*|<<|>>)?= *[^=].*|"
      "[\\w.\\[\\]:, ]+\\.([a-z]\\w*_|sort|fill|put|itemset|partition|byteswap)\\(.*\\)|"
      "(np|numpy)\\.(copyto|put|place|putmask)\\(.*\\)",
      kSyntax);
  static const Match calls_own(
      "(^|.*[^\\w.])(?!(range|len|bytes|float|int|bool|min|max|abs|sum|list|tuple)\\()[a-z_]\\w*\\(.*", kSyntax);
  if (text.find(';') != std::string::npos || text.find("\"\"\"") != std::string::npos) return Effect::unknown;
  if (is(text, none)) return Effect::none;
  std::smatch parts;
  if (!std::regex_match(text, parts, writes) || is(text, calls_own)) return Effect::unknown;
  return parts[2].matched && source.defines(parts[2]) ? Effect::unknown : Effect::writes;
}

Effect effect_in_cpp(std::string text) {
  static const Match loop("for \\([^()]*;[^()]*;[^()]*\\) *(.*)", kSyntax);
  static const Match braces("[{} ;]*(else|try|do)?[{} ;]*", kSyntax), condition("if \\([^()]*\\) *(.*)", kSyntax);
  static const Match none(
      "([A-Z_]+\\()?(cuda\\w+|cu[A-Z]\\w*)\\(.*\\);|break;|continue;|return( [^()]*)?;|"
      "(const )?(unsigned |std::)?(int|long|float|double|bool|char|short|unsigned|auto|size_t|(u?int(8|16|32|64)_t)) "
      "\\w+ = "
      "[^()]*;|std::this_thread::(yield|sleep_for)\\(.*\\);",
      kSyntax);
  static const Match writes(
      "(\\*\\w+|[\\w.>-]+(\\[.*\\]|->)[\\w.]*) *([-+*/%&|^]|<<|>>)?= "
      "*[^=].*;|(\\+\\+|--)?[\\w.>-]+\\[.*\\](\\+\\+|--)?;|"
      "((std::)?(memcpy|memset|memmove|strcpy|strncpy|snprintf)|std::(fill|fill_n|copy|copy_n|iota|sort|reverse))\\(.*"
      "\\);",
      kSyntax);
  static const Match calls_own(
      ".*[^\\w:.>](?!(sizeof|float|double|int|long|memcpy|memset|memmove|strcpy|strncpy|snprintf)\\()[a-z_]\\w*\\(.*",
      kSyntax);
  if (text.find("/*") != std::string::npos || text.find("*/") != std::string::npos) return Effect::unknown;
  for (std::size_t at = 0; (at = text.find(".size()")) != std::string::npos;) text.erase(at, 7);
  std::smatch parts;
  while (!text.empty() && text.back() == '{') text.erase(text.find_last_not_of(" {") + 1);
  bool header = false;
  for (const Match* each : {&condition, &loop}) {
    if (!std::regex_match(text, parts, *each)) continue;
    const std::string rest = parts[1];
    text = rest;
    header = true;
  }
  if ((header && text.empty()) || is(text, braces) || is(text, none)) return Effect::none;
  if (std::ranges::count(text, ';') > 1) return Effect::unknown;
  return is(text, writes) && !is(" " + text, calls_own) ? Effect::writes : Effect::unknown;
}

struct Frame {
  std::string file, function;
  int line;
  bool user, python;
};

bool is_of_user(const auto& frame) { return frame.user; }

// Returns the frames down to the call's true line, outermost frame first. Below it are only libraries and nvcc's stub
// of the kernel. Empty if the true line is unknown, or in native code that Python has called.
std::vector<Frame> frames_of(const PlacedCall& call) {
  std::vector<Frame> out;
  const auto add = [&](const auto& frames, bool python) {
    for (auto each = frames.rbegin(); each != frames.rend(); ++each) {
      out.push_back({each->file, each->function, each->line, each->user, python});
    }
  };
  const bool python = !call.stack.python.empty();
  if (python && std::ranges::any_of(call.stack.native, [](const auto& each) { return is_of_user(each); })) return {};
  python ? add(call.stack.python, true) : add(call.stack.native, false);
  const auto is_true = [&](const Frame& each) {
    return each.user && each.line > 0 && each.line == call.location.line && each.file == call.location.file;
  };
  while (!out.empty() && !is_true(out.back())) out.pop_back();
  return out;
}

// Returns false if the code below the true line may have made several calls, as in a loop of a library.
bool calls_once(const PlacedCall& call, std::size_t frames, const auto& source_of) {
  const auto is_of_cuda = [](const std::string& name) {
    return name.starts_with("cuda") || name.starts_with("__device_stub") ||
           (name.starts_with("cu") && name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2])) != 0);
  };
  const auto& [python, native] = call.stack;
  for (std::size_t i = 0; !python.empty() && i < python.size() - frames; ++i) {
    const Frame frame{python[i].file, python[i].function, python[i].line, false, true};
    if (source_of(frame).size() == 0 || source_of(frame).loop(frame.line, frame.line)) return false;
  }
  if (!python.empty() || native.size() <= frames) return true;
  const symbolize::NativeFrame& next = native[native.size() - frames - 1];
  return next.user || is_of_cuda(next.function);
}

// The statements that a thread executes from one call to the next one.
class Path {
 public:
  Path(const session::ProcessRecord& record, const PlacedCall& from, const PlacedCall& to)
      : record_(record), from_(from), to_(to), a_(frames_of(from)), b_(frames_of(to)) {}

  std::optional<Location> writing_statement() {
    if (!walk() || writing_.size() != 1) return std::nullopt;
    return writing_.front();
  }

 private:
  // Returns false if the path is unknown.
  bool walk() {
    std::size_t level = 0;
    const auto same = [&](std::size_t i) {
      return a_[i].file == b_[i].file && a_[i].function == b_[i].function && a_[i].line == b_[i].line;
    };
    const std::size_t shared = std::min(a_.size(), b_.size());
    while (level < shared && same(level)) ++level;
    if (shared == 0) return false;
    if (level == shared) {
      const auto source_of = [this](const Frame& frame) -> const Source& { return source(frame); };
      const bool again = from_.site == to_.site && a_.size() == b_.size() && calls_once(from_, shared, source_of);
      return again && around(level - 1);
    }
    if (!a_[level].user || !b_[level].user) return false;
    const Frame &from = a_[level], &to = b_[level];
    if (from.file != to.file || from.function != to.function || !inner(level)) return false;
    if (from.line < to.line) return add(from, from.line, to.line, true);
    return around(level);
  }

  // Adds what follows the call in the functions that are left, and what precedes it in the functions that are entered.
  bool inner(std::size_t level) {
    for (std::size_t i = level + 1; i < a_.size(); ++i) {
      if (a_[i].user && !add_rest(a_[i])) return false;
    }
    for (std::size_t i = level + 1; i < b_.size(); ++i) {
      if (b_[i].user && !add_begin(b_[i])) return false;
    }
    return true;
  }
  bool add_rest(const Frame& frame) {
    const auto function = source(frame).function(frame.line);
    return function && add(frame, frame.line, function->end, true);
  }
  bool add_begin(const Frame& frame) {
    const auto function = source(frame).function(frame.line);
    return function && add(frame, function->header, frame.line, false);
  }

  // Adds the path from the end of an innermost loop's body to its begin. Without a loop at this level, a loop of a
  // caller has called the function again.
  bool around(std::size_t level) {
    const Frame &from = a_[level], &to = b_[level];
    if (!from.user) return false;
    if (const auto loop = source(from).loop(from.line, to.line)) {
      const Source& text = source(from);
      return judge(from, loop->header, text.text(loop->header)) &&
             (from.python || judge(from, loop->end, text.text(loop->end))) && add(from, from.line, loop->end, true) &&
             add(to, loop->header, to.line, false);
    }
    return level > 0 && add_rest(from) && add_begin(to) && around(level - 1);
  }

  const Source& source(const Frame& frame) {
    const auto found = sources_.find(frame.file);
    if (found != sources_.end()) return found->second;
    const bool old = !symbolize::written_since_start(frame.file, record_);
    return sources_.try_emplace(frame.file, old ? frame.file : "", frame.python).first->second;
  }

  // Adds the statements on the lines between `first` and `last`. `after`: a statement on `first` may not have ended
  // there.
  bool add(const Frame& frame, int first, int last, bool after) {
    const Source& from = source(frame);
    lines_ += last - first;
    if (from.size() == 0 || lines_ > kMostBetween) return false;
    int open = after ? std::max(0, open_parentheses(from.at(first))) : 0, begin = 0;
    std::string statement;
    for (int line = first + 1; line < last; ++line) {
      const std::string text = from.text(line);
      if (text.empty()) continue;
      if (from.at(line).size() > kLongestLine || statement.size() > kLongestStatement) return false;
      const bool rest = open > 0 && begin == 0;  // of the statement on `first`
      if (begin == 0) begin = line;
      open += open_parentheses(text);
      if (open < 0) return false;
      if (rest) {
        begin = 0;
        continue;
      }
      statement += (statement.empty() ? "" : " ") + text;
      if (open > 0 || (!frame.python && !ends(statement))) continue;
      if (!judge(frame, begin, statement)) return false;
      begin = 0;
      statement.clear();
    }
    // A statement that has not ended contains the next call.
    return begin == 0 || open > 0 || frame.python || statement.find_last_of("=,&|+-?:<>") == statement.size() - 1;
  }
  // A preprocessor line or a header has no semicolon.
  static bool ends(const std::string& statement) {
    return statement.find_last_of(";{}") == statement.size() - 1 || statement.starts_with('#') ||
           statement.ends_with(')') || statement == "else" || statement == "do" || statement.ends_with(':');
  }

  bool judge(const Frame& frame, int line, const std::string& statement) {
    const Effect effect = frame.python ? effect_in_python(statement, source(frame)) : effect_in_cpp(statement);
    if (effect == Effect::unknown) return false;
    const bool known = std::ranges::any_of(
        writing_, [&](const Location& each) { return each.line == line && each.file == frame.file; });
    if (effect == Effect::none || known) return true;
    Location location;
    location.file = frame.file;
    location.function = frame.function;
    location.line = line;
    location.language = frame.python ? symbolize::Language::python : symbolize::Language::cplusplus;
    writing_.push_back(std::move(location));
    return true;
  }

  const session::ProcessRecord& record_;
  const PlacedCall &from_, &to_;
  const std::vector<Frame> a_, b_;
  std::map<std::string, Source> sources_;
  std::vector<Location> writing_;
  int lines_ = 0;
};

}  // namespace

std::optional<Location> writing_statement(const session::ProcessRecord& record, const PlacedCall& after,
                                          const PlacedCall& before) {
  const auto found = Path(record, after, before).writing_statement();
  return found ? std::optional(located(*found)) : std::nullopt;
}

std::string add_host_line(Finding& finding, const session::Race& race, const session::Process& process,
                          const ResolveSite& resolve, const std::string& directory) {
  if (race.unchanged_at == 0) return "";
  const auto placed = [&](std::uint32_t site) {
    auto [location, stack] = resolve(process, site);
    return PlacedCall{site, std::move(location), std::move(stack)};
  };
  const PlacedCall after = placed(race.unchanged_at), before = placed(race.changed_at);
  if (!after.location.known() || !before.location.known()) return "";
  finding.related.push_back({Role::unchanged, after.location, analyse::Fact::measured});
  finding.related.push_back({Role::changed, before.location, analyse::Fact::measured});
  const std::string text = fmt::format("; it changed after {} and before {}", place(after.location, directory),
                                       place(before.location, directory));
  if (race.before_marker) return text;  // it is unknown whether other threads ran, too
  if (race.others_ran) return text + ", while other threads ran, too";
  const auto line = writing_statement(process.record, after, before);
  if (!line) return text;
  finding.related.push_back({Role::written, *line, analyse::Fact::matched});
  finding.race->accesses[1].location = *line;
  return text + fmt::format(", and only {} writes memory in between (inferred)", place(*line, directory));
}

}  // namespace cudadiag::diagnose
