#include "session/pass_kind.h"

#include "base/text.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<PassKind, 9> kKinds = {{
    {PassKind::record, "record"},
    {PassKind::confirm, "confirm"},
    {PassKind::device, "device"},
    {PassKind::eager, "eager"},
    {PassKind::sanitize, "sanitize"},
    {PassKind::memory, "memory"},
    {PassKind::races, "races"},
    {PassKind::origin, "origin"},
    {PassKind::launch, "launch"},
}};

constexpr base::Words<CutShort, 6> kReasons = {{
    {CutShort::interrupted, "interrupted"},
    {CutShort::time_limit, "time limit"},
    {CutShort::first_race, "first race"},
    {CutShort::first_failure, "first failure"},
    {CutShort::issued_nothing, "it issued nothing for too long"},
    {CutShort::asked_terminal, "it asked the terminal"},
}};

}  // namespace

std::string_view word(PassKind kind) { return base::word_of(kKinds, kind, "other"); }

std::optional<PassKind> pass_kind(std::string_view word) { return base::value_of(kKinds, word); }

std::string_view word(CutShort reason) { return base::word_of(kReasons, reason, "other"); }

std::string_view word(const std::optional<CutShort>& reason) { return reason ? word(*reason) : ""; }

std::optional<CutShort> cut_short(std::string_view word) {
  if (word.empty()) return std::nullopt;
  return base::value_of(kReasons, word).value_or(CutShort::other);
}

}  // namespace cudadiag::session
