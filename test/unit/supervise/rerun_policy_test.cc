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
         {"CUDADIAG_PASS", "CUDADIAG_ARENA", "CUDADIAG_SESSION", "WORLD_SIZE", "RANK", "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "SLURM_NTASKS",
          "SLURM_PROCID", "SLURM_JOB_NUM_NODES", "CUDA_MPS_PIPE_DIRECTORY"}) {
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

std::optional<Kind> obstacle(const session::Session& session) {
  const auto found = obstacle_in_run(session);
  return found ? std::optional(found->kind) : std::nullopt;
}

TEST_CASE("there is no obstacle to rerunning a short run that failed by itself") {
  const Environment none;
  CHECK_FALSE(obstacle(failing_session()));
}

TEST_CASE("without isolation nothing is repeated unasked") {
  const Environment none;
  const launch::Input no_input(-1);
  CHECK_FALSE(obstacle_to_rerun(failing_session(), no_input, true));
  const auto found = obstacle_to_rerun(failing_session(), no_input, false);
  REQUIRE(found);
  CHECK(found->kind == Kind::not_isolated);
}

TEST_CASE("under MPS nothing is repeated unasked, although the user may agree to it") {
  const Environment none;
  const launch::Input no_input(-1);
  session::Session session = failing_session();
  CHECK_FALSE(may_end_other_programs(session));
  {
    const Environment client(Variables{{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}});
    CHECK(may_end_other_programs(session));
  }
  session.processes.front().record.properties["mps"] = "1";
  CHECK(may_end_other_programs(session));
  CHECK_FALSE(obstacle(session));
  for (const bool isolated : {true, false}) {
    const auto found = obstacle_to_rerun(session, no_input, isolated);
    REQUIRE(found);
    CHECK(found->kind == Kind::mps);
  }
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
  CHECK(obstacle_in_run(session)->detail == scratch.path().string());
}

TEST_CASE("a run that was ended, by cudadiag or from the outside, is not repeated") {
  const Environment none;
  session::Session session = failing_session();
  session::Pass& record = session.manifest.passes.front();
  record.end = {std::nullopt, SIGTERM};
  CHECK(obstacle(session) == Kind::ended_from_outside);
  record.end = {128 + SIGINT, std::nullopt};
  CHECK(obstacle(session) == Kind::ended_from_outside);
  record.end = {std::nullopt, SIGABRT};
  CHECK_FALSE(obstacle(session));
  session.manifest.hang = 5;
  CHECK(obstacle(session) == Kind::hung);
  record.cut_short = session::CutShort::first_race;
  CHECK(obstacle(session) == Kind::ended_early);
  CHECK(obstacle_in_run(session)->detail == "first race");
}

TEST_CASE("a run that failed late, or took long, is not repeated unasked") {
  const Environment none;
  session::Session session = failing_session();
  session::Pass& record = session.manifest.passes.front();
  record.seconds = 130;
  CHECK(obstacle(session) == Kind::took_long);
  record.failed_after = 125;
  CHECK(obstacle(session) == Kind::failed_late);
  CHECK(obstacle_in_run(session)->seconds == 125);
  record.failed_after = 100;
  CHECK_FALSE(obstacle(session));
}

TEST_CASE("one rank of a job is not repeated") {
  const session::Session session = failing_session();
  {
    const Environment rank(Variables{{"WORLD_SIZE", "8"}, {"RANK", "3"}});
    CHECK(obstacle(session) == Kind::one_rank);
    CHECK(obstacle_in_run(session)->number == 8);
  }
  {
    const Environment launcher_of_ranks(Variables{{"WORLD_SIZE", "8"}});
    CHECK_FALSE(obstacle(session));
  }
  {
    const Environment alone(Variables{{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}});
    CHECK_FALSE(obstacle(session));
  }
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
