#include "analyse/first_failure.h"

#include <doctest/doctest.h>

#include <cstring>

#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

// Returns each candidate as "stream:ordinal", most likely first.
std::vector<std::string> candidates(const Failure& failure) {
  std::vector<std::string> result;
  for (const auto& candidate : failure.candidates) {
    result.push_back(std::to_string(candidate.operation->stream) + ":" + std::to_string(candidate.operation->ordinal));
  }
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("dense markers leave the operation after the last finished one") {
  PictureBuilder picture;
  const auto s = picture.stream(2);
  picture.issue_many(s, 10, op::kMarked);
  const auto failure = first_failure(picture.process);
  REQUIRE(failure);
  CHECK(candidates(*failure) == Names{"0:3"});
  CHECK(failure->evidence.grade() == Grade::bracketed);
  CHECK(failure->evidence == "operation 2 on stream 0x100 had finished; only operation 3 could have been running");
  CHECK(failure->candidates[0].process_ordinal == 3);
  CHECK(failure->code == 700);
  CHECK(failure->reported == &picture.process.record.errors[0]);
}

TEST_CASE("an operation without a stream is not an answer, and a damaged recording is reported as such") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  const auto s = picture.stream(2);
  picture.issue_many(s, 2, op::kMarked);
  const auto site = picture.site("bad");
  picture.issue_at(site, s, op::kMarked);
  CHECK(first_failure(picture.process)->evidence.grade() == Grade::bracketed);
  record.damaged = 7;
  const auto failure = first_failure(picture.process);
  CHECK(failure->evidence.grade() == Grade::suspected);
  CHECK(failure->damaged);
  CHECK(failure->evidence.text().ends_with(
      "; the recording is damaged and lacks the place where the operation was issued"));
  record.native_stacks = {{{{0, 0x40}}, false}};
  record.sites[site - 1].native = 1;
  CHECK(first_failure(picture.process)->evidence.grade() == Grade::inferred);
  CHECK(first_failure(picture.process)->evidence.text().ends_with("but damaged parts of the recording were ignored"));
  record.damaged = 0;
  record.dropped_sites = 1;
  record.operations.back().site = 0;
  CHECK(first_failure(picture.process)->evidence.text().ends_with("; its call site was not recorded"));
  CHECK(!first_failure(picture.process)->damaged);
  record.damaged = 7;
  record.operations.clear();
  CHECK(first_failure(picture.process)->evidence ==
        "the recording is damaged: the operations that may have been running are not in it");
  CHECK(first_failure(picture.process)->damaged);
}

TEST_CASE("a damaged recording without any stream does not show that everything had finished") {
  PictureBuilder picture;
  picture.process.record.damaged = 320;
  const auto failure = first_failure(picture.process);
  CHECK(failure->evidence == "the recording is damaged: the operations that may have been running are not in it");
  CHECK(failure->damaged);
}

TEST_CASE("a process that did not freeze has no asynchronous failure") {
  PictureBuilder picture;
  picture.process.record.state = wire::area::State::finished;
  CHECK(!first_failure(picture.process));
}

TEST_CASE("sparse markers leave everything up to the first unwritten one") {
  PictureBuilder picture;
  const auto s = picture.stream(2);
  picture.issue_many(s, 4);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  picture.issue_many(s, 5);
  const auto failure = first_failure(picture.process);
  CHECK(candidates(*failure) == Names{"0:3", "0:4", "0:5"});
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->evidence == "3 operations may have been running, the likeliest first");
  CHECK(failure->candidates[0].because == "follows operation 2, the last one on its stream known to have finished");
  CHECK(failure->candidates[2].because == "follows 2 operations on its stream that may have finished");
}

TEST_CASE("operations that cannot fault, were captured, or were never queued are not candidates") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s, op::Kind::event_record);
  picture.issue(s, op::Kind::kernel, op::kCaptured);
  picture.issue(s).result = 1;
  picture.issue(s, op::Kind::host_function);
  picture.issue(s, op::Kind::allocation);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  const auto failure = first_failure(picture.process);
  CHECK(candidates(*failure) == Names{"0:5"});
  CHECK(failure->evidence.grade() == Grade::bracketed);
}

TEST_CASE("a call that returned the error failed because of the earlier operation") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s);
  picture.issue(s).result = 700;
  CHECK(candidates(*first_failure(picture.process)) == Names{"0:1"});
}

TEST_CASE("a call that returned the error is the answer if everything before it had finished") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue(s);
  picture.issue(s, op::Kind::copy, op::kBlocking).result = 700;
  picture.issue(s).result = 700;
  const auto failure = first_failure(picture.process);
  CHECK(candidates(*failure) == Names{"0:2"});
  CHECK(failure->evidence.grade() == Grade::bracketed);
  CHECK(failure->evidence == "the call itself returned the error, and everything issued before it had finished");
}

TEST_CASE("a call that had not returned comes last") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue(s).flags = 0;
  picture.issue(t);
  const auto failure = first_failure(picture.process);
  CHECK(candidates(*failure) == Names{"1:1", "0:1"});
  CHECK(failure->evidence == "2 operations on 2 streams may have been running, the likeliest first");
}

TEST_CASE("only kernels can assert; copies can touch a bad address") {
  for (const std::uint32_t code : {710u, 700u}) {
    PictureBuilder picture(code);
    const auto s = picture.stream(0), t = picture.stream(0);
    picture.issue(s, op::Kind::copy, op::kMarked);
    picture.issue(t, op::Kind::kernel, op::kMarked);
    const auto failure = first_failure(picture.process);
    CHECK(candidates(*failure) == (code == 710 ? Names{"1:1"} : Names{"1:1", "0:1"}));
    CHECK(failure->evidence.grade() == (code == 710 ? Grade::bracketed : Grade::inferred));
  }
}

TEST_CASE("the first of each stream comes before the later ones, oldest first") {
  PictureBuilder picture;
  const auto s = picture.stream(0), t = picture.stream(0);
  picture.issue_many(s, 2);
  picture.issue(t);
  CHECK(candidates(*first_failure(picture.process)) == Names{"0:1", "1:1", "0:2"});
}

TEST_CASE("another context's work may be at fault too, and comes after that of the reporting context") {
  PictureBuilder picture;
  picture.process.record.contexts.push_back(picture.process.record.contexts[0]);
  const auto other = picture.stream(0, 1), own = picture.stream(0);
  picture.issue(other, op::Kind::kernel, op::kMarked);
  picture.issue(own, op::Kind::kernel, op::kMarked);
  CHECK(candidates(*first_failure(picture.process)) == Names{"1:1", "0:1"});
  CHECK(first_failure(picture.process)->evidence.grade() == Grade::inferred);

  picture.process.record.streams[own].host_completed = 1;
  const auto failure = first_failure(picture.process);
  CHECK(candidates(*failure) == Names{"0:1"});
  CHECK(failure->evidence.grade() == Grade::inferred);

  picture.process.record.contexts[1].state = wire::context::State::destroyed;
  CHECK(first_failure(picture.process)->candidates.empty());
}

TEST_CASE("a result without unfinished work says so") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(2), 2);
  const auto failure = first_failure(picture.process);
  CHECK(failure->candidates.empty());
  CHECK(failure->evidence.grade() == Grade::suspected);
  CHECK(failure->evidence == "every recorded operation had finished before the error appeared");
}

TEST_CASE("operations of unknown streams are not reported as finished") {
  PictureBuilder picture;
  picture.issue_many(picture.stream(2), 2);
  picture.process.record.operations.back().stream = op::kNoStream;
  const auto because = [&] { return first_failure(picture.process)->evidence.text(); };
  CHECK(because() == "the streams of operations that may have been running were not recorded");
  picture.process.record.operations.back().flags |= op::kCaptured;
  CHECK(because() == "every recorded operation had finished before the error appeared");
}

TEST_CASE("lost records are reported, and leave the rest inferred") {
  PictureBuilder picture;
  const auto s = picture.stream(0);
  picture.issue(s);
  picture.process.record.streams[s].issued = 3;
  auto failure = first_failure(picture.process);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->evidence ==
        "no operation of stream 0x100 is known to have finished; among the recorded operations, only operation 1 "
        "could have been running, but the records of other operations that may have been running are lost");
  CHECK_FALSE(failure->lists_all());

  picture.process.record.operations.clear();
  failure = first_failure(picture.process);
  CHECK(failure->evidence.grade() == Grade::suspected);
  CHECK(failure->evidence == "the records of the operations that may have been running are lost");
}

TEST_CASE("if the record of a stream's first unfinished operation is lost, no other operation leads") {
  PictureBuilder picture;
  const auto s = picture.stream(1), t = picture.stream(0);
  picture.issue_many(s, 3);
  picture.issue(t, op::Kind::kernel, op::kMarked);
  auto& operations = picture.process.record.operations;
  SUBCASE("on another stream") { operations.erase(operations.begin() + 1, operations.begin() + 3); }
  SUBCASE("on its own stream") { operations.erase(operations.begin() + 1); }
  const auto failure = first_failure(picture.process);
  CHECK(failure->candidates.empty());
  CHECK(failure->evidence.grade() == Grade::suspected);
  CHECK(failure->evidence == "the records of the likeliest operations are lost");
}

TEST_CASE("no markers, MPS and dropped operations cap the grade") {
  PictureBuilder picture;
  picture.issue(picture.stream(0), op::Kind::kernel, op::kMarked);
  auto& record = picture.process.record;
  REQUIRE(first_failure(picture.process)->evidence.grade() == Grade::bracketed);
  SUBCASE("no markers") { record.contexts[0].markers = wire::context::Markers::refused; }
  SUBCASE("MPS") { record.properties["mps"] = "1"; }
  SUBCASE("dropped") { record.dropped_operations = 1; }
  CHECK(first_failure(picture.process)->evidence.grade() == Grade::inferred);
}

TEST_CASE("after a bad address, the program's own kernels are suspected before those of libraries") {
  const std::string library = "_ZN2at6native29vectorized_elementwise_kernelEv", own = "bump";
  const auto found = [&](std::uint32_t code, const std::string& first, const std::string& second,
                         std::uint64_t freed = 0) {
    PictureBuilder picture(code);
    const auto s = picture.stream(0);
    auto& record = picture.process.record;
    const session::Operation launch = picture.issue_at(picture.site(first), s);
    picture.issue_at(picture.site(second), s);
    session::Allocation& memory = record.allocations.emplace_back();
    memory.address = 0x5000;
    memory.bytes = 4096;
    memory.kind = wire::allocation::Kind::device;
    memory.made = 1;
    memory.freed = freed;
    record.arguments.push_back({launch.serial, 0, 0, {{0, std::string("\0\x50\0\0\0\0\0\0", 8)}}});
    return candidates(*first_failure(picture.process));
  };
  CHECK(found(700, library, own) == Names{"0:2", "0:1"});
  CHECK(found(700, own, library) == Names{"0:1", "0:2"});
  CHECK(found(700, library, library) == Names{"0:1", "0:2"});
  CHECK(found(700, own, own) == Names{"0:1", "0:2"});
  CHECK(found(719, library, own) == Names{"0:1", "0:2"});
  // The library's kernel received freed memory.
  CHECK(found(700, library, own, 2) == Names{"0:1", "0:2"});
}

TEST_CASE("after an assertion, a kernel that checks its data is suspected first, whatever was issued before it") {
  PictureBuilder picture(710);
  const auto s = picture.stream(0);
  picture.issue_many(s, 3);
  auto& record = picture.process.record;
  record.functions = {"_Z4fillPf", "_ZN2at6native24nll_loss_forwardEv"};
  record.sites = {{0, 0, 1, op::Kind::kernel, 0, 2}, {0, 0, 2, op::Kind::kernel, 0, 1}};
  for (auto& operation : record.operations) operation.site = operation.ordinal == 3 ? 2 : 1;
  CHECK(candidates(*first_failure(picture.process)) == Names{"0:3", "0:1", "0:2"});
  SUBCASE("so is a graph with such a kernel") {
    record.sites[1].function = 1;
    CHECK(candidates(*first_failure(picture.process)) == Names{"0:1", "0:2", "0:3"});
    session::Graph& graph = record.graphs.emplace_back();
    graph.nodes.resize(2);
    graph.nodes[1].function = 2;
    record.operations[1].kind = op::Kind::graph;
    record.operations[1].graph = 1;
    CHECK(candidates(*first_failure(picture.process)) == Names{"0:2", "0:1", "0:3"});
  }
  SUBCASE("also if another context returned the error, as for an event of this one") {
    record.contexts.push_back(record.contexts[0]);
    record.errors[0].context = 1;
    const auto other = picture.stream(0, 1);
    picture.issue(other);
    record.operations.back().site = 1;
    CHECK(candidates(*first_failure(picture.process)) == Names{"0:3", "1:1", "0:1", "0:2"});
  }
  SUBCASE("after a different error, the first operation leads") {
    record.frozen_code = 700;
    record.errors[0].code = 700;
    CHECK(candidates(*first_failure(picture.process)) == Names{"0:1", "0:2", "0:3"});
  }
}

TEST_CASE("an error that only the exit probe found is marked as such") {
  PictureBuilder picture;
  picture.issue(picture.stream(0), op::Kind::kernel, op::kMarked);
  picture.process.record.errors[0].flags |= wire::error::kAtExit;
  CHECK(
      first_failure(picture.process)
          ->evidence.text()
          .ends_with(
              "; no watched call returned the error; cudadiag found it just before the process or its context ended"));
}

TEST_CASE("a lost reporting call leaves all contexts in question") {
  PictureBuilder picture;
  picture.issue(picture.stream(0), op::Kind::kernel, op::kMarked);
  picture.process.record.frozen_error = 0;
  const auto failure = first_failure(picture.process);
  CHECK(failure->reported == nullptr);
  CHECK(candidates(*failure) == Names{"0:1"});
}

TEST_CASE("with many streams the list is cut and says so") {
  PictureBuilder picture;
  for (int i = 0; i < 1000; ++i) picture.stream(0);
  for (int round = 0; round < 128; ++round) {
    for (std::uint32_t s = 0; s < 1000; ++s) picture.issue(s, op::Kind::kernel, round % 16 == 15 ? op::kMarked : 0);
  }
  const auto failure = first_failure(picture.process);
  CHECK(failure->candidates.size() == kMaxCandidates);
  CHECK(failure->evidence ==
        "16000 operations on 1000 streams may have been running, the likeliest first; 15936 of them are not listed");
  CHECK(failure->candidates[63].operation->stream == 63);
}

TEST_CASE("an operation that was waited for alone is proven, whatever was issued after it") {
  PictureBuilder picture;
  session::ProcessRecord& record = picture.process.record;
  for (const std::uint32_t marker : {1, 0, 0}) picture.issue(picture.stream(marker), op::Kind::kernel, op::kMarked);
  record.operations[1].flags |= op::kAlone;
  const auto failure = first_failure(picture.process);
  REQUIRE(failure);
  CHECK(candidates(*failure) == Names{"1:1"});
  CHECK(failure->evidence.grade() == Grade::proven);
  CHECK(failure->evidence == "cudadiag waited for it while nothing else was running, and the error appeared");

  // Earlier operations may also be unfinished.
  const auto again = [&] { return *first_failure(picture.process); };
  SUBCASE("on another stream") {
    record.streams[0].marker = 0;
    CHECK(candidates(again()) == Names{"0:1", "1:1", "2:1"});
    CHECK(again().evidence.grade() == Grade::inferred);
  }
  SUBCASE("on a thread for which the recording had no room") {
    record.dropped_operations = 1;
    CHECK(again().evidence.grade() == Grade::inferred);
    CHECK(again().unproven == "not every operation could be recorded");
  }
  SUBCASE("on a stream for which the recording had no room") {
    record.dropped_streams = 1;
    CHECK(again().evidence.grade() == Grade::inferred);
    CHECK(again().unproven == "not every operation could be recorded");
  }
}

TEST_CASE("an operation that was waited for and finished proves nothing") {
  PictureBuilder picture;
  const auto s = picture.stream(1);
  picture.issue(s, op::Kind::kernel, op::kMarked | op::kAlone);
  picture.issue(s, op::Kind::kernel, op::kMarked);
  const auto failure = first_failure(picture.process);
  REQUIRE(failure);
  CHECK(candidates(*failure) == Names{"0:2"});
  CHECK(failure->evidence.grade() == Grade::bracketed);
}

TEST_CASE("under MPS, waiting alone is not a proof") {
  PictureBuilder picture;
  for (int stream = 0; stream < 2; ++stream) {
    picture.issue(picture.stream(0), op::Kind::kernel, op::kMarked | op::kAlone);
  }
  picture.process.record.properties["mps"] = "1";
  const auto failure = first_failure(picture.process);
  REQUIRE(failure);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->candidates.size() == 1);
}

namespace {

// Four operations on one stream, each of which may have failed. The third operation launches a graph for the second
// time.
struct StaleGraph {
  StaleGraph() : stream(picture.stream(0)) {
    picture.issue_many(stream, 4);
    auto& record = picture.process.record;
    session::Operation& launch = record.operations[2];
    launch.kind = op::Kind::graph;
    launch.graph = 1, launch.replay = 2;
    record.graphs.emplace_back().nodes.resize(2);
    session::Allocation& freed = record.allocations.emplace_back();
    freed.serial = 7, freed.address = 0x5000, freed.bytes = 0x100, freed.made = 1, freed.freed = 25;
    freed.kind = wire::allocation::Kind::device;
    record.stale_pointers.push_back({launch.serial, 0, 1, 8, 0x5010, 7, true});
  }
  // Gives the operation's kernel a parameter of `bytes` bytes that starts with `word`.
  void give(std::size_t operation, std::uint64_t word, std::size_t bytes) {
    session::Arguments& arguments = picture.process.record.arguments.emplace_back();
    arguments.serial = picture.process.record.operations[operation].serial;
    std::string parameter(bytes, '\0');
    std::memcpy(parameter.data(), &word, sizeof word);
    arguments.parameters.push_back({0, parameter});
  }
  Names found() const { return candidates(*first_failure(picture.process)); }

  PictureBuilder picture;
  std::uint32_t stream;
};

const Names kInOrder = {"0:1", "0:2", "0:3", "0:4"}, kGraphFirst = {"0:3", "0:1", "0:2", "0:4"};

}  // namespace

TEST_CASE("after an illegal address, a graph whose memory was freed since its previous launch is suspected first") {
  StaleGraph graph;
  session::ProcessRecord& record = graph.picture.process.record;
  const auto failure = first_failure(graph.picture.process);
  CHECK(candidates(*failure) == kGraphFirst);
  CHECK(failure->evidence.grade() == Grade::inferred);
  CHECK(failure->candidates[0].because == "its graph points to memory that was freed before this launch");
  SUBCASE("not if the memory was allocated again") {
    record.allocations.push_back(record.allocations[0]);
    record.allocations[1].serial = 8, record.allocations[1].made = 28, record.allocations[1].freed = 0;
    CHECK(graph.found() == kInOrder);
  }
  SUBCASE("not for another error") {
    record.frozen_code = record.errors[0].code = 716;
    CHECK(graph.found() == kInOrder);
  }
  SUBCASE("not if its own call had not returned") {
    record.operations[2].flags = 0;
    CHECK(graph.found() == Names{"0:1", "0:2", "0:4", "0:3"});
  }
  SUBCASE("a word of a structure may be left over before the first launch, or if its node was changed") {
    record.operations[2].replay = 1;
    CHECK(graph.found() == kInOrder);
    record.stale_pointers[0].in_structure = false;
    CHECK(graph.found() == kGraphFirst);
    record.operations[2].replay = 2;
    record.operations[2].graph_flags = op::kGraphRepointed;
    CHECK(graph.found() == kGraphFirst);
    record.stale_pointers[0].in_structure = true;
    CHECK(graph.found() == kInOrder);
  }
}

TEST_CASE("a graph that points to freed memory does not come before a kernel or copy that received freed memory") {
  StaleGraph graph;
  session::ProcessRecord& record = graph.picture.process.record;
  SUBCASE("in a kernel's parameter") {
    graph.give(3, 0x5020, 8);
    CHECK(graph.found() == kInOrder);
  }
  SUBCASE("in a small structure") {
    graph.give(0, 0x5020, 64);
    CHECK(graph.found() == kInOrder);
  }
  SUBCASE("as the source of a copy") {
    record.operations[1].kind = op::Kind::copy;
    record.operations[1].source = 0x5020;
    CHECK(graph.found()[0] != "0:3");
  }
  SUBCASE("a large structure may contain a leftover") {
    graph.give(0, 0x5020, 72);
    CHECK(graph.found() == kGraphFirst);
  }
  SUBCASE("other memory is not a reason") {
    graph.give(0, 0x6000, 8);
    CHECK(graph.found() == kGraphFirst);
  }
}
