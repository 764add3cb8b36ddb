#include "diagnose/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/printable.h"

namespace cudadiag::diagnose {

using analyse::Grade;
using analyse::Kind;
using analyse::Verdict;

std::string_view word(Grade grade) {
  switch (grade) {
    case Grade::proven:
      return "proven";
    case Grade::bracketed:
      return "bracketed";
    case Grade::inferred:
      return "inferred";
    case Grade::suspected:
      return "suspected";
  }
  return "suspected";
}

std::string_view word(sass::AccessKind kind) {
  constexpr std::string_view kWords[] = {"load", "store", "atomic", "copy"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view word(sass::Space space) {
  constexpr std::string_view kWords[] = {"global", "shared", "local", "generic"};
  return kWords[static_cast<std::size_t>(space)];
}

std::string_view word(Relation relation) {
  constexpr std::string_view kWords[] = {"unknown", "past_end",        "before",       "inside", "freed",
                                         "null",    "never_allocated", "other_device", "host",   "misaligned"};
  return kWords[static_cast<std::size_t>(relation)];
}

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::cuda_failure:
      return "cuda_failure";
    case Verdict::no_cuda_failure:
      return "no_cuda_failure";
    case Verdict::inconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

std::string_view word(Kind kind) {
  switch (kind) {
    case Kind::async_error:
      return "async_error";
    case Kind::graph_node:
      return "graph_node";
    case Kind::graph_stale_pointer:
      return "graph_stale_pointer";
    case Kind::sync_error:
      return "sync_error";
    case Kind::unchecked_error:
      return "unchecked_error";
    case Kind::capture_violation:
      return "capture_violation";
    case Kind::out_of_memory:
      return "out_of_memory";
    case Kind::stream_race:
      return "stream_race";
    case Kind::hang:
      return "hang";
    case Kind::non_finite:
      return "non_finite";
  }
  return "sync_error";
}

std::string_view word(analyse::Rerun::Outcome outcome) {
  using Outcome = analyse::Rerun::Outcome;
  switch (outcome) {
    case Outcome::proven:
      return "proven";
    case Outcome::unproven:
      return "failed again, but proves nothing about this answer";
    case Outcome::failed:
      return "failed, but not at an operation that it waited for";
    case Outcome::given_up:
      return "failed, but waiting for an operation took longer than --wait-limit";
    case Outcome::other:
      return "a different failure";
    case Outcome::did_not_fail:
      return "did not fail";
    case Outcome::cut_short:
      return "cut short";
    case Outcome::not_reached:
      return "ended before it reached this call";
    case Outcome::not_watched:
      return "for a GPU core dump";
    case Outcome::not_recorded:
      return "was not recorded";
    case Outcome::kept_from:
      return "was kept from changing something";
  }
  return "";
}

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

std::string thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string duration(double seconds) {
  if (seconds > 0 && seconds < 0.1) return fmt::format("{:.0f} ms", std::ceil(seconds * 1000));
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

std::string_view meaning(Grade grade) {
  switch (grade) {
    case Grade::proven:
      return "the failing operation was observed directly (run alone, named by the GPU, or its own call returned the "
             "error)";
    case Grade::bracketed:
      return "completion markers leave exactly one operation";
    case Grade::inferred:
      return "several operations are possible; the likeliest comes first";
    case Grade::suspected:
      return "a rule fits, but no measurement confirms it";
  }
  return "";
}

namespace {

// $'…', which bash, zsh, ksh and POSIX since 2024 know, for bytes that a terminal would not show: all but plain ASCII
// is spelled.
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

std::string bisect_command(const std::string& session, bool input, const std::string& options) {
  return "cudadiag bisect" + (session.empty() ? "" : ' ' + shell_word(session)) +
         (options.empty() ? "" : " " + options) + (input ? " <INPUT" : "");
}

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=:,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  if (base::printable(word) != word) return escaped_word(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace cudadiag::diagnose
