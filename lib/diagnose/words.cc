#include "diagnose/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

namespace cudadiag::diagnose {

using analyse::Grade;
using analyse::Kind;
using analyse::Verdict;

namespace {

constexpr base::Words<Grade, 4> kGrades = {{
    {Grade::proven, "proven"},
    {Grade::bracketed, "bracketed"},
    {Grade::inferred, "inferred"},
    {Grade::suspected, "suspected"},
}};

constexpr base::Words<Verdict, 3> kVerdicts = {{
    {Verdict::cuda_failure, "cuda_failure"},
    {Verdict::no_cuda_failure, "no_cuda_failure"},
    {Verdict::inconclusive, "inconclusive"},
}};

constexpr base::Words<Kind, 12> kKinds = {{
    {Kind::async_error, "async_error"},
    {Kind::graph_node, "graph_node"},
    {Kind::graph_stale_pointer, "graph_stale_pointer"},
    {Kind::sync_error, "sync_error"},
    {Kind::unchecked_error, "unchecked_error"},
    {Kind::capture_violation, "capture_violation"},
    {Kind::out_of_memory, "out_of_memory"},
    {Kind::stream_race, "stream_race"},
    {Kind::kernel_race, "kernel_race"},
    {Kind::hang, "hang"},
    {Kind::non_finite, "non_finite"},
    {Kind::out_of_bounds, "out_of_bounds"},
}};

constexpr base::Words<sass::AccessKind, 4> kAccesses = {{
    {sass::AccessKind::load, "load"},
    {sass::AccessKind::store, "store"},
    {sass::AccessKind::atomic, "atomic"},
    {sass::AccessKind::copy, "copy"},
}};

constexpr base::Words<sass::Space, 4> kSpaces = {{
    {sass::Space::global, "global"},
    {sass::Space::shared, "shared"},
    {sass::Space::local, "local"},
    {sass::Space::generic, "generic"},
}};

constexpr base::Words<Relation, 10> kRelations = {{
    {Relation::unknown, "unknown"},
    {Relation::past_end, "past_end"},
    {Relation::before, "before"},
    {Relation::inside, "inside"},
    {Relation::freed, "freed"},
    {Relation::null, "null"},
    {Relation::never_allocated, "never_allocated"},
    {Relation::other_device, "other_device"},
    {Relation::host, "host"},
    {Relation::misaligned, "misaligned"},
}};

constexpr base::Words<Role, 20> kRoles = {{
    {Role::forward, "forward"},     {Role::backward, "backward"},   {Role::started, "started"},
    {Role::eager, "eager"},         {Role::source, "source"},       {Role::called, "called"},
    {Role::caller, "caller"},       {Role::capture, "capture"},     {Role::update, "update"},
    {Role::replay, "replay"},       {Role::allocated, "allocated"}, {Role::freed, "freed"},
    {Role::taken, "taken"},         {Role::written, "written"},     {Role::swallowed, "swallowed"},
    {Role::fork, "fork"},           {Role::used, "used"},           {Role::infinite, "infinite"},
    {Role::unchanged, "unchanged"}, {Role::changed, "changed"},
}};

constexpr base::Words<TensorRole, 3> kTensorRoles = {{
    {TensorRole::argument, "argument"},
    {TensorRole::result, "result"},
    {TensorRole::variable, "variable"},
}};

constexpr base::Words<RanksDifference, 6> kDifferences = {{
    {RanksDifference::none, "none"},
    {RanksDifference::absence, "absence"},
    {RanksDifference::line, "line"},
    {RanksDifference::kernel, "kernel"},
    {RanksDifference::blocks, "blocks"},
    {RanksDifference::circle, "circle"},
}};

using GroupKind = analyse::GroupAnswer::Kind;
constexpr base::Words<GroupKind, 4> kGroupKinds = {{
    {GroupKind::absence, "absence"},
    {GroupKind::mismatch, "mismatch"},
    {GroupKind::circle, "circle"},
    {GroupKind::present, "present"},
}};

using GroupDifference = analyse::GroupAnswer::Difference;
constexpr base::Words<GroupDifference, 6> kGroupDifferences = {{
    {GroupDifference::none, "none"},
    {GroupDifference::function, "function"},
    {GroupDifference::count, "count"},
    {GroupDifference::type, "type"},
    {GroupDifference::root, "root"},
    {GroupDifference::line, "line"},
}};

constexpr base::Words<WaitsFor, 3> kWaits = {{
    {WaitsFor::stream, "stream"},
    {WaitsFor::value, "value"},
    {WaitsFor::semaphore, "semaphore"},
}};

constexpr base::Words<wire::area::State, 5> kStates = {{
    {wire::area::State::empty, "empty"},
    {wire::area::State::recording, "recording"},
    {wire::area::State::frozen, "frozen"},
    {wire::area::State::finished, "finished"},
    {wire::area::State::disabled, "disabled"},
}};

constexpr base::Words<symbolize::Language, 3> kLanguages = {{
    {symbolize::Language::python, "python"},
    {symbolize::Language::cplusplus, "c++"},
    {symbolize::Language::cuda, "cuda"},
}};

using Outcome = analyse::Rerun::Outcome;
constexpr base::Words<Outcome, 11> kOutcomes = {{
    {Outcome::proven, "proven"},
    {Outcome::unproven, "failed again, but did not prove this answer"},
    {Outcome::failed, "failed, but not at an operation that it waited for"},
    {Outcome::given_up, "failed, but waiting for an operation took longer than --wait-limit"},
    {Outcome::other, "a different failure"},
    {Outcome::did_not_fail, "did not fail"},
    {Outcome::cut_short, "cut short"},
    {Outcome::not_reached, "ended before it reached this call"},
    {Outcome::not_watched, "for a GPU core dump"},
    {Outcome::not_recorded, "was not recorded"},
    {Outcome::kept_from, "was kept from changing something"},
}};

}  // namespace

std::string_view word(Grade grade) { return base::word_of(kGrades, grade); }
std::string_view word(Verdict verdict) { return base::word_of(kVerdicts, verdict); }
std::string_view word(Kind kind) { return base::word_of(kKinds, kind); }
std::string_view word(sass::AccessKind kind) { return base::word_of(kAccesses, kind); }
std::string_view word(sass::Space space) { return base::word_of(kSpaces, space); }
std::string_view word(Relation relation) { return base::word_of(kRelations, relation); }
std::string_view word(Role role) { return base::word_of(kRoles, role); }
std::string_view word(TensorRole role) { return base::word_of(kTensorRoles, role); }
std::string_view word(RanksDifference difference) { return base::word_of(kDifferences, difference); }
std::string_view word(GroupKind kind) { return base::word_of(kGroupKinds, kind); }
std::string_view word(GroupDifference difference) { return base::word_of(kGroupDifferences, difference); }
std::string_view word(WaitsFor what) { return base::word_of(kWaits, what); }
std::string_view word(wire::area::State state) { return base::word_of(kStates, state, "empty"); }
std::string_view word(symbolize::Language language) { return base::word_of(kLanguages, language); }
std::string_view word(Outcome outcome) { return base::word_of(kOutcomes, outcome); }

std::string dimensions(const std::array<std::uint32_t, 3>& d) { return fmt::format("{},{},{}", d[0], d[1], d[2]); }

std::string joined(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
  }
  return text;
}

std::string with_article(std::string_view word) {
  const bool vowel = !word.empty() && std::string_view("aeio").find(word.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(word);
}

std::string duration(double seconds) {
  if (seconds > 0 && seconds < 0.1) return fmt::format("{:.0f} ms", std::ceil(seconds * 1000));
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<long long>(std::ceil(seconds / 60));
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string grade_text(const Finding& finding) {
  const std::string grade(word(finding.evidence.grade()));
  const bool inside = finding.compiled && finding.compiled->inside && finding.evidence.names_one();
  return inside ? fmt::format("call {}, line inferred", grade) : grade;
}

std::string_view meaning(Grade grade) {
  switch (grade) {
    case Grade::proven:
      return "the failing operation was observed directly, because it failed while running alone, the GPU named it, or "
             "its own call returned the error";
    case Grade::bracketed:
      return "completion markers rule out all operations except one";
    case Grade::inferred:
      return "several operations are possible; the likeliest comes first";
    case Grade::suspected:
      return "a rule matches, but no measurement confirms it";
  }
  return "";
}

namespace {

// Quotes a word that contains bytes which a terminal does not show. Everything except printable ASCII becomes an escape
// in $'…'. This works in bash, zsh, ksh and, since 2024, in POSIX shells.
std::string escaped_word(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += {'\\', c};
    } else if (c >= ' ' && c < 0x7f) {
      quoted += c;
    } else {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return quoted + "'";
}

}  // namespace

namespace {

// Returns `options`, after those of `given` that they do not replace.
std::string added_to(std::span<const std::string> given, const std::string& options) {
  std::string text;
  for (const std::string& option : given) {
    const bool is_replaced = (options + ' ').find(option.substr(0, option.find('=')) + ' ') != std::string::npos;
    if (!is_replaced) text += ' ' + shell_word(option);
  }
  return text + (options.empty() ? "" : ' ' + options);
}

}  // namespace

std::string bisect_command(const std::string& session, bool input, const std::vector<std::string>& given,
                           const std::string& options) {
  return "cudadiag bisect" + (session.empty() ? "" : ' ' + shell_word(session)) + added_to(given, options) +
         (input ? " <INPUT" : "");
}

std::string record_command(const std::vector<std::string>& given, const std::vector<std::string>& command, bool input,
                           const std::string& options) {
  std::vector<std::string> words = given;
  std::erase(words, "--rerun=never");
  if (words.empty()) words.emplace_back("run");
  return "cudadiag " + shell_word(words.front()) + added_to(std::span(words).subspan(1), options) + " -- " +
         shell_line(command) + (input ? " <INPUT" : "");
}

std::string descriptor_in(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
      const std::size_t at = word.find(folder);
      if (at == std::string::npos || (at > 0 && word[at - 1] != '=') || word.find(' ') != std::string::npos) continue;
      const auto number = base::whole_number<unsigned>(std::string_view(word).substr(at + folder.size()));
      if (number.value_or(0) > 2) return word.substr(at);
    }
  }
  return "";
}

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=:,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  if (base::printable(word) != word) return escaped_word(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

namespace {

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD of cuda.h.
constexpr std::uint64_t kLegacyStream = 0x1;
constexpr std::uint64_t kPerThreadStream = 0x2;

}  // namespace

std::string stream_name(std::uint64_t handle) {
  if (handle == kLegacyStream) return "default stream";
  if (handle == kPerThreadStream) return "per-thread default stream";
  return fmt::format("stream {:#x}", handle);
}

std::string stream_phrase(std::uint64_t handle) {
  const char* article = handle == kLegacyStream ? "the " : handle == kPerThreadStream ? "a " : "";
  return article + stream_name(handle);
}

std::string other_stream_phrase(std::uint64_t handle) {
  if (handle == kLegacyStream) return stream_phrase(handle) + " of another context";
  return handle == kPerThreadStream ? "another thread's default stream" : "another " + stream_name(handle);
}

std::string StreamLetters::name(const std::string& text) {
  constexpr std::string_view kBefore = "stream ", kHandle = "0x";
  constexpr std::size_t kLetters = 26;
  std::string named;
  std::size_t done = 0;
  for (std::size_t at = text.find("stream 0x"); at != text.npos; at = text.find("stream 0x", done)) {
    const std::size_t begin = at + kBefore.size();
    const std::size_t end = std::min(text.size(), text.find_first_not_of("0123456789abcdef", begin + kHandle.size()));
    const std::string handle = text.substr(begin, end - begin);
    const auto found = std::ranges::find(handles_, handle);
    const auto number = static_cast<std::size_t>(found - handles_.begin());
    if (found == handles_.end()) handles_.push_back(handle);
    named += text.substr(done, begin - done) + static_cast<char>('A' + number % kLetters);
    if (number >= kLetters) named += std::to_string(number / kLetters);
    done = end;
  }
  return named + text.substr(done);
}

}  // namespace cudadiag::diagnose
