#include "session/pass_kind.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cudadiag::session {
namespace {

constexpr std::pair<PassKind, std::string_view> kKinds[] = {
    {PassKind::record, "record"}, {PassKind::confirm, "confirm"},   {PassKind::device, "device"},
    {PassKind::eager, "eager"},   {PassKind::sanitize, "sanitize"}, {PassKind::memory, "memory"},
    {PassKind::races, "races"},
};

constexpr std::pair<CutShort, std::string_view> kReasons[] = {
    {CutShort::interrupted, "interrupted"},
    {CutShort::time_limit, "time limit"},
    {CutShort::first_race, "first race"},
    {CutShort::issued_nothing, "it issued nothing for too long"},
    {CutShort::asked_terminal, "it asked the terminal"},
};

template <typename Words, typename Value>
std::string_view word_in(const Words& words, Value value) {
  const auto* found =
      std::find_if(std::begin(words), std::end(words), [&](const auto& each) { return each.first == value; });
  return found == std::end(words) ? "other" : found->second;
}

}  // namespace

std::string_view word(PassKind kind) { return word_in(kKinds, kind); }

std::optional<PassKind> pass_kind(std::string_view word) {
  for (const auto& [kind, name] : kKinds) {
    if (name == word) return kind;
  }
  return std::nullopt;
}

std::string_view word(CutShort reason) { return word_in(kReasons, reason); }

std::string_view word(const std::optional<CutShort>& reason) { return reason ? word(*reason) : ""; }

std::optional<CutShort> cut_short(std::string_view word) {
  for (const auto& [reason, name] : kReasons) {
    if (name == word) return reason;
  }
  return word.empty() ? std::nullopt : std::optional(CutShort::other);
}

}  // namespace cudadiag::session
