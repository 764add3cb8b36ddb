#include "session/pass_kind.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cudadiag::session {
namespace {

constexpr std::pair<PassKind, std::string_view> kWords[] = {
    {PassKind::record, "record"}, {PassKind::confirm, "confirm"},   {PassKind::device, "device"},
    {PassKind::eager, "eager"},   {PassKind::sanitize, "sanitize"}, {PassKind::memory, "memory"},
    {PassKind::races, "races"},
};

}  // namespace

std::string_view word(PassKind kind) {
  const auto* found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& each) { return each.first == kind; });
  return found == std::end(kWords) ? "other" : found->second;
}

std::optional<PassKind> pass_kind(std::string_view word) {
  const auto* found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& each) { return each.second == word; });
  return found == std::end(kWords) ? std::nullopt : std::optional(found->first);
}

}  // namespace cudadiag::session
