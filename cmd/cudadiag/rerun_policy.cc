#include "rerun_policy.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "launch/changed_files.h"
#include "narrow.h"
#include "report/words.h"
#include "session/session_folders.h"
#include "wire/environment.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;

constexpr double kCheapSeconds = 120;

int number_in(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

// Variables by which launchers of jobs tell a process how many ranks there are, and which one it is.
struct RankVariables {
  const char* size;
  const char* rank;
};
constexpr RankVariables kRankVariables[] = {{"WORLD_SIZE", "RANK"},
                                            {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                            {"PMI_SIZE", "PMI_RANK"},
                                            {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                            {"SLURM_NTASKS", "SLURM_PROCID"}};

// The ranks of the job that this process is one of; 1: it is none of a larger job.
int ranks_of_job() {
  for (const auto& [size, rank] : kRankVariables) {
    if (number_in(size, 1) > 1 && std::getenv(rank) != nullptr) return number_in(size, 1);
  }
  return 1;
}

bool spans_nodes() { return number_in("SLURM_JOB_NUM_NODES", 1) > 1; }

// A shell that has taken over what `cudadiag env` prints has no launcher that might rerun what runs in it.
bool under_another_launcher() {
  const char* pass = std::getenv(wire::environment::kPass);
  if (pass == nullptr) return false;
  return pass != std::string_view(session::kRecordFolder) || std::getenv(wire::environment::kArena) != nullptr ||
         std::getenv(wire::environment::kSession) == nullptr;
}

bool ended_from_outside(const session::ProcessEnd& end) {
  const int signal = end.signal.value_or(end.code.value_or(0) > 128 ? *end.code - 128 : 0);
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGKILL;
}

std::string changed_text(const fs::path& changed, const fs::path& folder) {
  std::error_code ignored;
  const fs::file_status now = fs::symlink_status(changed, ignored);
  const std::string name = changed.lexically_relative(folder).string() + (fs::is_directory(now) ? "/" : "");
  return name + (fs::exists(now) ? " changed while it ran" : " was removed while it ran");
}

}  // namespace

std::string obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                              const launch::FolderBefore& before, const std::string& report_file) {
  if (under_another_launcher()) return "it ran under another cudadiag";
  const std::string& cut_short = session.manifest.passes.front().cut_short;
  if (!cut_short.empty()) return "it was ended at its " + cut_short;
  if (session.manifest.hang) return "it hung";
  if (ended_from_outside(session.manifest.passes.front().end)) return "it was ended from outside";
  if (const int ranks = ranks_of_job(); ranks > 1) return "it is one rank of a job of " + std::to_string(ranks);
  const double seconds = expected_seconds(session);
  if (seconds > kCheapSeconds) {
    const bool failed = session.manifest.passes.front().failed_after.has_value();
    return (failed ? "it failed after " : "it took ") + report::duration(seconds);
  }
  if (spans_nodes()) return "the job spans several nodes";
  if (const std::string obstacle = input.obstacle(); !obstacle.empty()) return obstacle;
  launch::FileSearch search;
  search.folder = session.manifest.working_directory;
  search.before = before;
  std::error_code ignored;
  if (!report_file.empty()) search.except.push_back(fs::absolute(report_file, ignored));
  const launch::FileChanges changes = launch::changed_files(search);
  if (changes.first) return changed_text(*changes.first, search.folder);
  return changes.whole ? "" : "not all of the working folder could be looked through for files that it wrote";
}

}  // namespace cudadiag::command
