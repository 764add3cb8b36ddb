#include "analyse/analysis.h"

#include <doctest/doctest.h>

#include <csignal>

#include "analyse/notes.h"
#include "unit/analyse/picture_builder.h"
#include "wire/pass_files.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

session::Process frozen_process(std::uint32_t pid, std::uint64_t start) {
  PictureBuilder picture;
  picture.issue(picture.stream(0), op::Kind::kernel, op::kMarked);
  picture.process.pid = pid;
  picture.process.record.start_realtime = start;
  return picture.process;
}

session::Process working_process(int signal) {
  PictureBuilder picture;
  picture.issue_many(picture.stream(1), 3);
  picture.process.record.state = wire::area::State::recording;
  picture.process.record.errors.clear();
  picture.process.record.frozen_error = 0;
  picture.process.end = session::ProcessEnd{std::nullopt, signal};
  return picture.process;
}

const Note* note(const Analysis& analysis, std::string_view code) {
  for (const auto& candidate : analysis.notes) {
    if (word(candidate.code) == code) return &candidate;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("nothing is known of CUDA if no process loaded the recorder, and an incomplete session says why") {
  session::Session session;
  session.manifest.passes.emplace_back().end.code = 3;
  session.manifest.notes = {"the launcher's"};
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::inconclusive);
  CHECK(analysis.failures.empty());
  REQUIRE(analysis.notes.size() == 2);
  CHECK(analysis.notes[0].code == analyse::NoteCode::nothing_recorded);
  CHECK(analysis.notes[1].text == "the launcher's");
  session.whole = false;
  const Analysis known = cudadiag::analyse::analyse(session);
  CHECK(known.verdict == Verdict::inconclusive);
  CHECK(!note(known, "nothing-recorded"));
}

TEST_CASE("if the launcher knows why nothing was recorded, nothing is guessed") {
  session::Session session;
  session.manifest.unrecorded = "there is no recorder; reinstall cudadiag";
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::inconclusive);
  REQUIRE(analysis.notes.size() == 1);
  CHECK(analysis.notes[0].code == analyse::NoteCode::nothing_recorded);
  CHECK(analysis.notes[0].text == "the program was not recorded: there is no recorder; reinstall cudadiag");
}

TEST_CASE("a recorder that stepped aside leaves the verdict open, however well the program ended") {
  session::Session session;
  session.manifest.passes.emplace_back().end.code = 0;
  session.manifest.notes = {"the launcher's"};
  session.processes.resize(2);
  session.processes[0].record.state = wire::area::State::finished;
  session.processes[1].record.state = wire::area::State::disabled;
  session.processes[1].record.notes = {{"cupti-held", "another tool holds CUPTI"}};
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::inconclusive);
  CHECK(analysis.notes.front().text ==
        "process 0: the recorder turned itself off: another tool holds CUPTI; another profiler uses CUPTI: turn it off "
        "for this run, or use --watch-by=hooks");
}

TEST_CASE("a process that outlived its command leaves the verdict open if it had given the GPU work") {
  session::Session session;
  session.manifest.passes.emplace_back().end.code = 0;
  session.manifest.notes = {"the launcher's"};
  session.manifest.outlived_by = {4711};
  session::Process& process = session.processes.emplace_back();
  process.pid = 4711;
  process.record.state = wire::area::State::recording;
  const Analysis idle = cudadiag::analyse::analyse(session);
  CHECK(idle.verdict == Verdict::no_cuda_failure);
  CHECK(idle.notes.back().code == analyse::NoteCode::outlived);
  process.record.operations_issued = 1;
  const Analysis working = cudadiag::analyse::analyse(session);
  CHECK(working.verdict == Verdict::inconclusive);
  CHECK(working.notes.front().text ==
        "process 4711 was still running when the command exited, so cudadiag stopped watching it; to watch it until it "
        "exits, make the command wait for it");
  process.record.state = wire::area::State::finished;  // the process exited just after the launcher last checked it
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::no_cuda_failure);
  session.processes.push_back(frozen_process(4712, 0));
  const Analysis failed = cudadiag::analyse::analyse(session);
  CHECK(failed.verdict == Verdict::cuda_failure);
  CHECK(note(failed, "outlived"));
}

TEST_CASE("a process that is still running is not reported as ended") {
  session::Session session;
  session.processes = {working_process(SIGKILL)};
  session.processes[0].end.reset();
  session.manifest.passes.emplace_back().end = {3, std::nullopt};
  session.manifest.outlived_by = {session.processes[0].pid};
  CHECK(!note(cudadiag::analyse::analyse(session), "killed-at-work"));
}

TEST_CASE("a process in which nothing failed has no failure") {
  session::Session session;
  session.processes.emplace_back().record.state = wire::area::State::finished;
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::no_cuda_failure);
  CHECK(analysis.failures.empty());
  CHECK(analysis.notes.empty());
}

TEST_CASE("the earliest process leads") {
  session::Session session;
  session.processes = {frozen_process(1, 5'000), frozen_process(2, 3'000)};
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::cuda_failure);
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures[0].process == &session.processes[1]);
}

TEST_CASE("a suspected call never leads if a sticky error was seen") {
  session::Session session;
  session.processes = {frozen_process(1, 5'000)};
  session.processes[0].record.seconds_per_tick = 1e-9;
  session::FailedCall unchecked;
  unchecked.code = 1;
  unchecked.ticks = 1;
  unchecked.flags = wire::error::kLaunch;
  unchecked.call = "cuLaunchKernel";
  session.processes[0].record.errors.push_back(unchecked);
  const Analysis analysis = cudadiag::analyse::analyse(session);
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures[0].kind == Kind::async_error);
  CHECK(analysis.failures[1].kind == Kind::unchecked_error);
}

TEST_CASE("an unrelated crash is named as such") {
  session::Session session;
  session.processes.emplace_back().record.state = wire::area::State::finished;
  session.manifest.passes.emplace_back().end.code = 3;
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::no_cuda_failure);
  REQUIRE(note(analysis, "unrelated-end"));
  CHECK(note(analysis, "unrelated-end")->text ==
        "the command ended with status 3, but no watched CUDA call had failed");
  session::FailedCall asked;
  asked.code = 500;
  asked.call = "cuModuleGetFunction";
  session.processes[0].record.errors.push_back(asked);
  CHECK(note(cudadiag::analyse::analyse(session), "unrelated-end")->text ==
        "the command ended with status 3, but no watched CUDA call had failed, except those whose error is expected");
  session.manifest.passes.front().cut_short = session::CutShort::first_race;
  CHECK(!note(cudadiag::analyse::analyse(session), "unrelated-end"));
}

TEST_CASE("a process killed at work leaves the verdict open") {
  session::Session session;
  session.processes = {working_process(SIGKILL)};
  const Analysis analysis = cudadiag::analyse::analyse(session);
  CHECK(analysis.verdict == Verdict::inconclusive);
  REQUIRE(note(analysis, "killed-at-work"));
  CHECK(note(analysis, "killed-at-work")->text ==
        "process 4711 was killed by signal 9 with 2 operations pending; no later call checked whether they failed");
}

TEST_CASE("a crash before a GPU core dump may be the driver's own") {
  namespace core_dump = cudadiag::wire::core_dump;
  session::Session session;
  session.processes = {working_process(SIGSEGV)};
  const auto names_driver = [&] {
    return note(cudadiag::analyse::analyse(session), "killed-at-work")->text.find("driver") != std::string::npos;
  };
  CHECK(!names_driver());
  session.processes[0].record.properties = {{core_dump::kProperty, core_dump::kArmed}};
  CHECK(names_driver());
  session.processes[0].end->signal = SIGKILL;
  CHECK(!names_driver());
  session.processes[0].end.reset();
  session.manifest.passes.emplace_back().end.code = 128 + SIGSEGV;  // the process ran in a shell
  CHECK(names_driver());
}

TEST_CASE("a crash at work leaves the verdict open, and so does an unknown end, unless the program was asked to end") {
  session::Session session;
  session.processes = {working_process(SIGSEGV)};
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::inconclusive);
  session.processes[0].end = {3, std::nullopt};
  CHECK(note(cudadiag::analyse::analyse(session), "killed-at-work")
            ->text.starts_with("process 4711 ended with status 3 but without exit(), with 2 operations pending"));
  session.processes[0].end.reset();
  session.manifest.passes.emplace_back().end = {124, std::nullopt};
  CHECK(note(cudadiag::analyse::analyse(session), "killed-at-work")
            ->text.starts_with("process 4711 ended in an unknown way with 2 operations pending"));
  // The process may have crashed in a pipeline whose last process succeeded.
  session.manifest.passes[0].end = {0, std::nullopt};
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::inconclusive);
  session.manifest.asked_to_end = true;
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::no_cuda_failure);
  session.manifest.asked_to_end = false;
  session.processes[0].record.exit_status = 0;
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::no_cuda_failure);
}

TEST_CASE("a process that was ended at work because another one had failed does not leave the verdict open") {
  session::Session session;
  session.processes = {working_process(SIGTERM), working_process(SIGTERM)};
  session.processes[1].pid = 4712;
  session.processes[1].end.reset();
  session.processes[1].record.state = wire::area::State::finished;
  session.processes[1].record.exit_status = 1;
  session.manifest.passes.emplace_back().end = {1, std::nullopt};
  session.processes[1].record.properties["left_at_work"] = "47110 4711";
  session::ProcessRecord& first = session.processes[1].record;
  first.seconds_per_tick = session.processes[0].record.seconds_per_tick = 0.001;
  const std::uint64_t worked = session.processes[0].record.operations.back().ticks;
  first.clock_last = worked + 9000;
  const auto text = [&] {
    const Analysis analysis = cudadiag::analyse::analyse(session);
    const auto* found = note(analysis, "cut-off");
    CHECK((found != nullptr) == (analysis.verdict == Verdict::no_cuda_failure));
    return found != nullptr ? found->text : std::string();
  };
  CHECK(text() ==
        "process 4711 was killed by signal 15 with 2 operations pending; process 4712 had ended with status 1 "
        "while this one was working");
  session.processes[0].end.reset();
  CHECK(text().starts_with("process 4711 ended in an unknown way with 2 operations"));
  session.processes[0].end = {std::nullopt, SIGSEGV};  // the process crashed by itself
  CHECK(text().empty());
  session.processes[0].end.reset();
  first.clock_last = worked + 11000;  // it was already idle for too long, so it may have hung
  CHECK(text().empty());
  session.processes[0].record.operations.back().ticks = worked + 30000;  // it kept working after the other process had
                                                                         // failed
  CHECK(text().empty());
  first.clock_last = worked + 25000;
  CHECK(!text().empty());
  first.properties["left_at_work"] = "47110";
  CHECK(text().empty());
}

TEST_CASE("a kill when everything had finished does not leave the verdict open") {
  session::Session session;
  session.processes = {working_process(SIGKILL)};
  session.processes[0].record.streams[0].host_completed = 3;
  CHECK(cudadiag::analyse::analyse(session).verdict == Verdict::no_cuda_failure);
}

TEST_CASE("a hanging process may wait for one that failed") {
  PictureBuilder waiting;
  waiting.issue(waiting.stream(0), op::Kind::kernel, op::kMarked);
  waiting.process.record.state = wire::area::State::recording;
  waiting.process.record.errors.clear();
  session::Session session;
  session.processes = {waiting.process, frozen_process(2, 3'000)};
  session.manifest.hang = 2;
  const Analysis analysis = cudadiag::analyse::analyse(session);
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures[0].kind == Kind::async_error);
  CHECK(analysis.failures[1].kind == Kind::hang);
}

TEST_CASE("a process that handled a failed call until another process failed comes after it") {
  session::Session session;
  session::Process refused;
  session::FailedCall error;
  error.code = 2;
  error.ticks = 1;
  error.call = "cuMemAlloc_v2";
  error.flags = wire::error::kLookedAt;
  refused.record.errors.push_back(error);
  refused.record.exit_status = 1;
  refused.record.seconds_per_tick = 1e-9;
  session.processes = {refused, frozen_process(2, 3'000)};
  const auto kinds = [&](std::uint64_t ended) {
    session.processes[0].record.clock_last = ended;
    std::vector<Kind> found;
    for (const Failure& failure : cudadiag::analyse::analyse(session).failures) found.push_back(failure.kind);
    return found;
  };
  CHECK(kinds(2'000) == std::vector{Kind::out_of_memory, Kind::async_error});
  CHECK(kinds(4'000) == std::vector{Kind::async_error, Kind::out_of_memory});
}

TEST_CASE("gaps in the record are noted") {
  session::Session session;
  session.processes = {frozen_process(1, 0)};
  auto& record = session.processes[0].record;
  record.dropped_operations = 7;
  record.failed_markers = 2;
  record.contexts[0].markers = wire::context::Markers::off;
  record.notes.push_back({"cupti-held", "another tool holds CUPTI"});
  const Analysis analysis = cudadiag::analyse::analyse(session);
  REQUIRE(note(analysis, "operations-dropped"));
  CHECK(note(analysis, "operations-dropped")->text == "7 operations could not be recorded");
  CHECK(note(analysis, "markers-failed"));
  CHECK(note(analysis, "markers-off"));
  CHECK(note(analysis, "cupti-held"));
  CHECK(!note(analysis, "mps"));
}

TEST_CASE("notes name what a full log lacks, and not what it replaces") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.dropped_held = 5;
  const auto codes = [&] {
    std::vector<std::string> found;
    for (const Note& note : coverage_notes(picture.process, false)) found.emplace_back(word(note.code));
    return found;
  };
  CHECK(codes() == std::vector<std::string>{"held-dropped"});
  record.log = {.operations = 10, .lost = 0, .reaches_rings = true};
  CHECK(codes().empty());
  record.log->lost = 3;
  CHECK(codes() == std::vector<std::string>{"held-dropped", "log-lost"});
  record.log = {.operations = 10, .lost = 0, .reaches_rings = false};
  CHECK(codes() == std::vector<std::string>{"held-dropped", "log-cut"});
}
