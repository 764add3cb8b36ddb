#include "diagnose/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace ranks_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

RankLine at(std::optional<int> rank, int line, const std::string& kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL") {
  RankLine result;
  result.rank = rank;
  result.pid = 4711 + static_cast<std::uint32_t>(rank.value_or(0));
  result.issued = 5;
  result.has_come = true;
  result.location = {"/home/ada/train.py", "step", symbolize::Language::python, "", "", line};
  result.kernel = kernel + "(ncclDevKernelArgsStorage<4096ul>)";
  result.grid = {1, 1, 1};
  result.seconds = 12;
  return result;
}

RankLine missing(int rank, std::optional<std::string> ended = {}) {
  RankLine result = at(rank, 31);
  result.issued = 4;
  result.has_come = false;
  result.ended = std::move(ended);
  return result;
}

constexpr const char* kHome = "/home/ada";

}  // namespace

TEST_CASE("ranks with the same text share a line") {
  const RanksPart part{
      1'205, RanksDifference::absence, {at(0, 9), at(1, 9), at(2, 9), missing(3), at(5, 9), at(6, 9), missing(7)}};
  CHECK(rank_lines(part, kHome) ==
        Lines{"at collective 1,205, after 1,204 that all ranks called in the same way",
              "ranks 0-2, 5 and 6: train.py:9, step",
              "ranks 3 and 7: called 4 of them; its last work was at train.py:31, step, 12 s before the end"});
}

TEST_CASE("the text says how many collectives all ranks called alike") {
  RanksPart part{1'205, RanksDifference::none, {at(0, 9), at(1, 9)}};
  part.first = 1'200;
  CHECK(rank_lines(part, kHome).front() ==
        "at collective 1,205, after the 5 earlier ones still recorded, which all ranks called in the same way");
  part.first = 1'205;
  CHECK(rank_lines(part, kHome).front() == "at collective 1,205");
}

TEST_CASE("the text shows how the ranks differ") {
  RanksPart part{1, RanksDifference::kernel, {at(0, 9), at(1, 9, "ncclDevKernel_AllReduce_Sum_f16_RING_LL")}};
  CHECK(rank_lines(part, kHome) == Lines{"at the first collective",
                                         "rank 0: train.py:9, step  ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                         "rank 1: train.py:9, step  ncclDevKernel_AllReduce_Sum_f16_RING_LL"});
  part = {2, RanksDifference::blocks, {at(0, 9), at(1, 9)}};
  part.ranks[1].grid[0] = 24;
  CHECK(rank_lines(part, kHome) ==
        Lines{"at collective 2, after 1 that all ranks called in the same way",
              "rank 0: train.py:9, step  ncclDevKernel_AllReduce_Sum_f32_RING_LL  1 block",
              "rank 1: train.py:9, step  ncclDevKernel_AllReduce_Sum_f32_RING_LL  24 blocks"});
}

TEST_CASE("the text says that a rank ended before the others") {
  const RanksPart part{5, RanksDifference::absence, {at(0, 9), missing(1, "status 1"), missing(2, "")}};
  const Lines lines = rank_lines(part, kHome);
  CHECK(lines[2] == "rank 1: called 4 of them, and ended earlier, with status 1");
  CHECK(lines[3] == "rank 2: called 4 of them, and ended earlier");
}

TEST_CASE("a rank that may have skipped a collective is shown with its number of kernels") {
  RanksPart part{9, RanksDifference::absence, {at(0, 9), missing(1)}};
  part.uneven = {5, 4712, 1, 8, 4};
  CHECK(rank_lines(part, kHome).back() ==
        "rank 1 may have skipped a collective: before collective 5, it launched 8 kernels, while the other ranks "
        "launched 4");
  CHECK(
      ranks_text(part, kHome).starts_with("at collective 9, after 8 that all ranks called in the same way: rank 0: "));
}

TEST_CASE("processes without a rank are named by their pids") {
  const RanksPart part{5, RanksDifference::none, {at(0, 9), at({}, 9)}};
  CHECK(rank_lines(part, kHome)[1] == "rank 0 and process 4711: train.py:9, step");
}

TEST_CASE("the rules get the missing ranks and the calls of the others") {
  const causes::RanksInWords words = in_words(RanksPart{5, RanksDifference::absence, {at(0, 9), missing(1)}}, kHome);
  CHECK(words.ranks == 2);
  CHECK(words.difference == RanksDifference::absence);
  CHECK(words.missing == "rank 1");
  CHECK(words.calls == "rank 0: train.py:9, step");
}

TEST_CASE("a report without a failure shows all lines about the ranks") {
  Diagnosis report = clean_report();
  report.ranks = {5, RanksDifference::line, {at(0, 9), at(1, 12)}};
  TextOptions options;
  options.verbosity = Verbosity::verbose;
  CHECK(write_text(report, options)
            .find("Ranks   at collective 5, after 4 that all ranks called in the same way\n        rank 0: ") !=
        std::string::npos);
}

TEST_CASE("a crowded page shortens other sentences before it drops a rank") {
  Diagnosis report = crowded_report();
  Finding& hang = report.findings[0];
  hang.device.reset();  // a hang never has these members
  hang.inputs.reset();
  hang.saved_launch.reset();
  hang.memory_use.reset();
  hang.watched.clear();
  report.ranks = {5, RanksDifference::line, {at(0, 9), at(1, 12)}};
  const std::string text = write_text(report, {Verbosity::normal, false, 100, false});
  CHECK(std::count(text.begin(), text.end(), '\n') <= 22 + 3);  // the three lines of the ranks
  CHECK(text.find("Ranks   at collective 5, after 4 that all ranks called in the same way\n        rank 0: "
                  "/home/ada/train.py:9, "
                  "step\n        rank 1: /home/ada/train.py:12, step\n") != std::string::npos);
}

// ---- names of groups

namespace {

using analyse::RankState;

// Makes rank `rank` of the job a member of a group.
void join(RankState& state, std::uint64_t hash, std::int32_t rank, std::int32_t ranks, const char* name = "") {
  session::Communicator& communicator = state.communicators.emplace_back();
  communicator.hash = hash;
  communicator.rank = rank;
  communicator.ranks = ranks;
  communicator.name = name;
}

std::vector<RankState> job(int ranks) {
  std::vector<RankState> states(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    states[static_cast<std::size_t>(rank)].rank = rank;
    states[static_cast<std::size_t>(rank)].pid = 100 + static_cast<std::uint32_t>(rank);
  }
  return states;
}

}  // namespace

TEST_CASE("a group has the name that the program gave it") {
  auto states = job(2);
  join(states[0], 7, 0, 2, "tp1"), join(states[1], 7, 1, 2, "tp1");
  CHECK(GroupNames(states).group(7) == "group tp1");
}

TEST_CASE("a group without a name lists its ranks in the job") {
  auto states = job(8);
  join(states[6], 7, 0, 2), join(states[3], 7, 1, 2);
  for (int rank = 0; rank < 8; ++rank) join(states[static_cast<std::size_t>(rank)], 9, rank, 8);
  const GroupNames names(states);
  CHECK(names.group(7) == "the group of ranks 3 and 6");
  CHECK(names.group(9) == "the group of ranks 0-7");
  CHECK(names.rank(7, 0) == "rank 6");
  CHECK(names.rank(7, 5) == "rank 5 of the group");
}

TEST_CASE("groups of the same ranks are numbered in the order of creation") {
  auto states = job(2);
  for (const std::uint64_t hash : {9, 4}) join(states[0], hash, 0, 2), join(states[1], hash, 1, 2);
  const GroupNames names(states);
  CHECK(names.group(9) == "group 1 of ranks 0 and 1");
  CHECK(names.group(4) == "group 2 of ranks 0 and 1");
}

TEST_CASE("ranks that are not recorded are counted") {
  auto states = job(2);
  join(states[0], 7, 0, 4), join(states[1], 7, 1, 4);
  CHECK(GroupNames(states).group(7) == "the group of ranks 0 and 1 and 2 more");
}

}  // namespace ranks_test
