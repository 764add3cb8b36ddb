#include "supervise/reruns/rerun_policy.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "unit/scratch_folder.h"
#include "unit/supervise/failing_session.h"

namespace cudadiag::supervise {
namespace {

using Kind = RerunObstacle::Kind;

using Variables = std::vector<std::pair<std::string, std::string>>;

// Unsets the variables that would indicate a job or another launcher, except for those in `set`. The destructor
// restores them.
class Environment {
 public:
  explicit Environment(const Variables& set = {}) {
    for (const char* name :
         {"CUDADIAG_PASS", "CUDADIAG_ARENA",       "CUDADIAG_SESSION",     "WORLD_SIZE",
          "RANK",          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
          "PMI_RANK",      "MV2_COMM_WORLD_SIZE",  "MV2_COMM_WORLD_RANK",  "HOROVOD_SIZE",
          "HOROVOD_RANK",  "FLUX_JOB_SIZE",        "FLUX_TASK_RANK",       "SLURM_STEP_NUM_TASKS",
          "SLURM_NTASKS",  "SLURM_PROCID",         "SLURM_JOB_NUM_NODES",  "CUDA_MPS_PIPE_DIRECTORY"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) before_.emplace_back(name, value);
      ::unsetenv(name);
    }
    set_ = set;
    set_.emplace_back("CUDA_MPS_PIPE_DIRECTORY", "/dev/null");  // this machine's own MPS daemon, if any, does not count
    for (const auto& [name, value] : set_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables before_, set_;
};

using Decision = RerunDecision::Kind;
using Advice = RerunDecision::Advice;

constexpr TerminalState kPerson{true, true, true, true, false, false};

const launch::Input& no_input() {
  static const launch::Input input(-1);
  return input;
}

RerunDecision decide(const RerunRequest& request, const session::Session& session = failing_session()) {
  return decide_rerun(session, no_input(), request);
}

// Why the run is not rerun even if a person agrees.
RerunObstacle found_in(const session::Session& session) {
  return decide({.isolated = true, .terminal = kPerson}, session).obstacle.value_or(RerunObstacle{});
}

std::optional<Kind> obstacle(const session::Session& session) {
  const RerunDecision decision = decide({.isolated = true, .terminal = kPerson}, session);
  return decision.obstacle ? std::optional(decision.obstacle->kind) : std::nullopt;
}

std::optional<Kind> obstacle_unasked(const session::Session& session, bool isolated) {
  const RerunDecision decision = decide({.mode = RerunMode::automatic, .isolated = isolated}, session);
  return decision.obstacle ? std::optional(decision.obstacle->kind) : std::nullopt;
}

TEST_CASE("at a terminal, cudadiag asks; elsewhere, it reruns unasked; --rerun overrides both") {
  const Environment none;
  const auto kind = [](RerunMode mode, const TerminalState& terminal) {
    return decide({.mode = mode, .isolated = true, .terminal = terminal}).kind;
  };
  constexpr TerminalState kNobody{};
  CHECK(kind(RerunMode::standard, kPerson) == Decision::ask);
  CHECK(kind(RerunMode::standard, kNobody) == Decision::start);
  CHECK(kind(RerunMode::ask, kPerson) == Decision::ask);
  CHECK(kind(RerunMode::ask, kNobody) == Decision::decline);
  CHECK(kind(RerunMode::automatic, kPerson) == Decision::start);
  CHECK(kind(RerunMode::automatic, kNobody) == Decision::start);
  CHECK(kind(RerunMode::always, kNobody) == Decision::start);
  // The dump of a hang was requested on the command line.
  session::Session hung = failing_session();
  hung.manifest.hang = 5;
  CHECK(decide({.mode = RerunMode::never, .for_hang_dump = true}, hung).kind == Decision::start);
  CHECK(decide({.mode = RerunMode::standard, .isolated = true}, hung).kind == Decision::decline);
}

TEST_CASE("cudadiag asks only where the user can see the question and answer it") {
  const Environment none;
  const auto why = [](const TerminalState& terminal, bool quiet = false) {
    const RerunDecision decision =
        decide({.mode = RerunMode::ask, .isolated = true, .quiet = quiet, .terminal = terminal});
    CHECK(decision.advice == Advice::bisect_isolated);
    return decision.obstacle.value_or(RerunObstacle{}).kind;
  };
  const auto without = [&](bool TerminalState::*member, bool value) {
    TerminalState terminal = kPerson;
    terminal.*member = value;
    return why(terminal);
  };
  CHECK(why(kPerson, true) == Kind::quiet);
  CHECK(without(&TerminalState::input_is_terminal, false) == Kind::no_terminal);
  CHECK(without(&TerminalState::errors_are_terminal, false) == Kind::no_terminal);
  CHECK(without(&TerminalState::in_foreground, false) == Kind::in_background);
  CHECK(without(&TerminalState::lines_are_read, false) == Kind::raw_terminal);
  CHECK(without(&TerminalState::dumb, true) == Kind::dumb_terminal);
  CHECK(without(&TerminalState::in_ci, true) == Kind::in_ci);
}

TEST_CASE("after a refusal, the advice is what the user can still do") {
  const Environment none;
  const RerunDecision interrupted = decide({.mode = RerunMode::always, .isolated = true, .interrupted = true});
  CHECK(interrupted.obstacle.value().kind == Kind::interrupted);
  CHECK(interrupted.advice == Advice::bisect_isolated);
  CHECK(decide({.interrupted = true}).advice == Advice::bisect);
  // Only a rerun that is not isolated can inherit a folder that has no path.
  session::Session gone = failing_session();
  gone.manifest.working_directory.clear();
  CHECK(decide({.isolated = true}, gone).obstacle.value().kind == Kind::no_folder);
  CHECK(decide({.mode = RerunMode::always, .isolated = true}, gone).kind == Decision::start);
  session::Session late = failing_session();
  late.manifest.passes.front().seconds = 130;
  for (const TerminalState& terminal : {TerminalState{}, kPerson}) {
    CHECK(decide({.isolated = true, .terminal = terminal}, late).advice == Advice::bisect_isolated);
    CHECK(decide({.terminal = terminal}, late).advice == Advice::bisect);
  }
  session::Session rank = failing_session();
  rank.manifest.ranks = 8;
  CHECK(decide({.isolated = true}, rank).advice == Advice::once);
}

TEST_CASE("there is no obstacle to rerunning a short run that failed by itself") {
  const Environment none;
  CHECK_FALSE(obstacle(failing_session()));
}

TEST_CASE("without isolation nothing is repeated unasked") {
  const Environment none;
  CHECK_FALSE(obstacle_unasked(failing_session(), true));
  CHECK(obstacle_unasked(failing_session(), false) == Kind::not_isolated);
}

TEST_CASE("under MPS nothing is repeated unasked, although the user may agree to it") {
  const Environment none;
  session::Session session = failing_session();
  CHECK_FALSE(may_end_other_programs(session));
  {
    const Environment client(Variables{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}});
    CHECK(may_end_other_programs(session));
  }
  session.processes.front().record.properties["mps"] = "1";
  CHECK(may_end_other_programs(session));
  CHECK_FALSE(obstacle(session));
  for (const bool isolated : {true, false}) CHECK(obstacle_unasked(session, isolated) == Kind::mps);
}

TEST_CASE("nothing is repeated where another user can replace the folder of the session") {
  const Environment none;
  const test::ScratchFolder scratch;
  session::Session session = failing_session();
  session.folder = scratch.path() / "state/cudadiag/session";
  std::filesystem::create_directories(session.folder);
  CHECK_FALSE(obstacle(session));
  REQUIRE(::chmod(scratch.path().c_str(), 0777) == 0);
  CHECK(obstacle(session) == Kind::exposed);
  CHECK(found_in(session).detail == scratch.path().string());
  CHECK(decide({.isolated = true}, session).advice == Advice::other_folder);
  CHECK(decide({.mode = RerunMode::never, .for_hang_dump = true}, session).obstacle.value().kind == Kind::exposed);
}

TEST_CASE("a run that cudadiag or a signal ended is not repeated, unless it is a signal of a crash") {
  const Environment none;
  session::Session session = failing_session();
  session::Pass& record = session.manifest.passes.front();
  record.end = {std::nullopt, SIGTERM};
  CHECK(obstacle(session) == Kind::ended_by_signal);
  CHECK(found_in(session).detail == "signal 15");
  // A shell whose command was killed, or any program.
  record.end = {128 + SIGINT, std::nullopt};
  CHECK(obstacle(session) == Kind::ended_by_signal);
  CHECK(found_in(session).detail == "status 130");
  for (const int signal : {SIGUSR1, SIGQUIT, SIGXCPU}) {
    record.end = {std::nullopt, signal};
    CHECK(obstacle(session) == Kind::ended_by_signal);
  }
  record.end = {std::nullopt, SIGABRT};
  CHECK_FALSE(obstacle(session));
  CHECK(decide({.isolated = true, .signals = {SIGABRT}}, session).obstacle.value().kind == Kind::ended_by_signal);
  session.manifest.hang = 5;
  CHECK(obstacle(session) == Kind::hung);
  record.cut_short = session::CutShort::first_race;
  CHECK(obstacle(session) == Kind::ended_early);
  CHECK(found_in(session).detail == "first race");
}

TEST_CASE("nothing is repeated in a working folder that has been removed") {
  const Environment none;
  session::Session session = failing_session();
  session.manifest.working_directory = "/no/such/folder";
  for (const RerunMode mode : {RerunMode::standard, RerunMode::always}) {
    CHECK(decide({.mode = mode, .isolated = true}, session).obstacle.value().kind == Kind::no_folder);
  }
}

TEST_CASE("a run that failed late, or took long, is not repeated unasked") {
  const Environment none;
  session::Session session = failing_session();
  session::Pass& record = session.manifest.passes.front();
  record.seconds = 130;
  CHECK(obstacle(session) == Kind::took_long);
  record.failed_after = 125;
  CHECK(obstacle(session) == Kind::failed_late);
  CHECK(found_in(session).seconds == 125);
  record.failed_after = 100;
  CHECK_FALSE(obstacle(session));
}

TEST_CASE("one rank of a job is not repeated") {
  const auto ranks = [](const Variables& variables) {
    const Environment set(variables);
    return ranks_of_job();
  };
  CHECK(ranks({{"WORLD_SIZE", "8"}, {"RANK", "3"}}) == 8);
  CHECK(ranks({{"WORLD_SIZE", "8"}}) == 1);  // the launcher of the ranks
  CHECK(ranks({{"RANK", "3"}}) == 4);        // the least that it can be
  CHECK(ranks({{"RANK", "0"}}) == 1);
  CHECK(ranks({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}) == 1);
  CHECK(ranks({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}}) == 4);
  CHECK(ranks({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}) == 1);  // a batch script
  CHECK(ranks({{"HOROVOD_SIZE", "2"}, {"HOROVOD_RANK", "1"}}) == 2);
  CHECK(ranks({{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}) == 2);
  // Images may set the variables of a job with one rank.
  CHECK(ranks({{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}}) == 4);
  CHECK(ranks({{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}) == 1);
  session::Session session = failing_session();
  CHECK_FALSE(obstacle(session));
  session.manifest.ranks = 8;
  CHECK(obstacle(session) == Kind::one_rank);
  session.manifest.hang = 60;
  CHECK(obstacle(session) == Kind::one_rank);
  session.manifest.hang.reset();
  session.manifest.ranks = 1;
  const Environment nodes(Variables{{"SLURM_JOB_NUM_NODES", "2"}});
  CHECK(obstacle(session) == Kind::several_nodes);
}

TEST_CASE("a run under another cudadiag is left to that one to repeat") {
  const session::Session session = failing_session();
  {
    const Environment rerun(Variables{{"CUDADIAG_PASS", "confirm"}, {"CUDADIAG_SESSION", "/tmp/s"}});
    CHECK(obstacle(session) == Kind::under_another_launcher);
  }
  {
    const Environment recorded(Variables{{"CUDADIAG_PASS", "record"}, {"CUDADIAG_ARENA", "/proc/1/fd/3"}});
    CHECK(obstacle(session) == Kind::under_another_launcher);
  }
  // A shell that has evaluated the output of cudadiag env has these variables.
  const Environment exported(Variables{{"CUDADIAG_PASS", "record"}, {"CUDADIAG_SESSION", "/tmp/s"}});
  CHECK_FALSE(obstacle(session));
}

}  // namespace
}  // namespace cudadiag::supervise
