// Tests the text of each enumeration value in session files: each text is unique, and reads back as its value.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "session/found_races.h"
#include "session/hook_output.h"
#include "session/process_record.h"

namespace cudadiag::session {
namespace {

TEST_CASE("each kind of work has a unique word, which leads back to the kind") {
  std::set<std::string_view> words;
  for (int value = 0; value <= static_cast<int>(Work::free); ++value) {
    const Work work = static_cast<Work>(value);
    CHECK(work_of(word(work)) == work);
    CHECK(words.insert(word(work)).second);
  }
  CHECK_FALSE(work_of(""));
  CHECK_FALSE(work_of("Kernel"));
}

TEST_CASE("races.json preserves each kind of work and each mode") {
  for (const Work work : {Work::kernel, Work::copy, Work::memset, Work::allocation, Work::free}) {
    for (const RaceMode mode : {RaceMode::unknown, RaceMode::none, RaceMode::read, RaceMode::write, RaceMode::atomic}) {
      Races races;
      races.found.emplace_back();
      races.found[0].first.what = work;
      races.found[0].first.mode = mode;
      const auto again = parse_races(write_races(races));
      REQUIRE(again);
      CHECK(again->found.at(0).first.what == work);
      CHECK(again->found.at(0).first.mode == mode);
    }
  }
}

TEST_CASE("a delivery has the kind that its word gives") {
  for (const DeliveryKind kind :
       {DeliveryKind::call, DeliveryKind::results, DeliveryKind::line, DeliveryKind::watched, DeliveryKind::forward,
        DeliveryKind::started, DeliveryKind::memory, DeliveryKind::untold, DeliveryKind::non_finite,
        DeliveryKind::origin, DeliveryKind::race, DeliveryKind::note, DeliveryKind::checking}) {
    const std::string text = "7 900 {\"kind\":\"" + std::string(word(kind)) + "\",\"arguments\":[],\"stacks\":[]}\n";
    const auto deliveries = parse_deliveries(text);
    REQUIRE(deliveries.size() == 1);
    CHECK(deliveries[0].kind == kind);
  }
  const auto unknown = parse_deliveries("7 900 {\"kind\":\"telepathy\",\"arguments\":[]}\n");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].kind == DeliveryKind::other);
}

}  // namespace
}  // namespace cudadiag::session
