#include <doctest/doctest.h>

#include <optional>

#include "session/session.h"

namespace cudadiag::session {
namespace {

TEST_CASE("each kind of pass has a unique word, which leads back to the kind") {
  for (const PassKind kind :
       {PassKind::record, PassKind::confirm, PassKind::device, PassKind::eager, PassKind::sanitize, PassKind::memory,
        PassKind::races, PassKind::origin, PassKind::launch}) {
    CHECK(pass_kind(word(kind)) == kind);
  }
  CHECK_FALSE(pass_kind("confirm-2"));
  CHECK_FALSE(pass_kind(""));
}

TEST_CASE("each reason for ending a run early has a unique word, which leads back to the reason") {
  for (const CutShort reason : {CutShort::interrupted, CutShort::time_limit, CutShort::first_race,
                                CutShort::issued_nothing, CutShort::asked_terminal}) {
    CHECK(cut_short(word(reason)) == reason);
  }
  CHECK_FALSE(cut_short(""));
  CHECK(word(std::optional<CutShort>()).empty());
}

}  // namespace
}  // namespace cudadiag::session
