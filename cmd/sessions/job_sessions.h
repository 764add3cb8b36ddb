// The sessions of a job in which every rank or node has its own launcher, and the call at which the ranks diverge.
// Reads a few sessions at a time and keeps only a summary of each, so a thousand fit in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/rank_divergence.h"
#include "base/result.h"
#include "diagnose/ranks.h"
#include "diagnose/session_state.h"

namespace cudadiag::command {

// The maximum number of calls kept for each rank of a job with several sessions. If NCCL reported no calls, launches of
// collectives are kept instead. These numbers suffice to find where waiting ranks diverge, and a thousand ranks still
// fit in memory.
inline constexpr std::size_t kCallsKept = 256, kLaunchesKept = 1024;

struct OpenSession {
  explicit OpenSession(session::Session from) : session(std::move(from)), state(session) {}

  const session::Session session;
  diagnose::SessionState state;
};

// The first failure of a session. Failures with the same key are reported together.
struct SessionFailure {
  analyse::FailureOrder order;
  analyse::Grade grade{};
  std::uint64_t key = 0;  // if 0, the failure is reported alone
  std::optional<int> rank;
  std::uint32_t pid = 0;
  bool hangs = false;          // true for a hang, false for a failed call
  bool in_collective = false;  // true for a hang in a collective
};

// A process that has a rank, and the data needed to find the rank's Flight Recorder dump.
struct RankProcess {
  int rank = 0;
  std::uint32_t pid = 0;
  std::string working_folder;
  std::string dump_prefix;       // from the process's environment; empty if not set
  double began = 0;              // in seconds since the epoch, like `ended` and `latest_collective`
  std::optional<double> ended;   // the time of its last record; nullopt if unknown
  double latest_collective = 0;  // 0 if no collective was recorded
};

// The collectives of one process. `process` is its index in the session.
struct ProcessCollectives {
  analyse::CollectiveSequence sequence;
  std::size_t process = 0;
};

struct JobSession {
  std::filesystem::path folder;
  std::string working_directory;
  std::string foreign;  // why it may belong to another user; empty if it belongs to this user
  std::optional<SessionFailure> failure;
  std::vector<analyse::RankState> states;
  std::optional<std::vector<ProcessCollectives>> collectives;  // nullopt if they are not needed, because `states` has
                                                               // all calls
  std::vector<RankProcess> ranks;
  bool knows_groups = false;          // NCCL reported the communicators of every process
  std::unique_ptr<OpenSession> open;  // null if the session is closed
};

class JobSessions {
 public:
  // Like open(), throws a base::Error if a session cannot be read.
  static JobSessions read(const std::vector<std::filesystem::path>& folders);

  std::vector<JobSession>& all() { return sessions_; }
  const std::vector<JobSession>& all() const { return sessions_; }
  // Opens the session unless it is already open. Only one session of a large job is open at a time, so the result is
  // valid only until the next call.
  OpenSession& open(JobSession& session);
  // Finds the collectives of the session's processes by the names of their kernels, ignoring the calls that NCCL
  // reported.
  void read_collectives(JobSession& session);
  bool knows_groups() const;

 private:
  std::vector<JobSession> sessions_;
  JobSession* latest_ = nullptr;  // the session that was opened last
};

// Calls `work` once for each number below `count`, in increasing order. Uses at most four threads, because each call
// may hold a session in memory. If a call returns false or throws, the calls for smaller numbers still finish, and no
// further calls start. Rethrows the exception of `work`.
void in_parallel(std::size_t count, const std::function<bool(std::size_t)>& work);

// At most one is set.
struct Divergence {
  std::optional<diagnose::GroupsPart> groups;
  std::optional<diagnose::RanksPart> ranks;
};

struct DivergenceOptions {
  // Folder or path prefix of the dumps of the Flight Recorder; nullopt: search where PyTorch writes them.
  std::optional<std::string> flight_recorder;
  bool foreign = false;  // also read the dumps of ranks in sessions that may belong to another user
};

// Finds the call at which the ranks of a job diverge. Uses the groups that NCCL reported. Without groups, it uses the
// dumps of PyTorch's Flight Recorder. Without dumps, it uses the order of the kernels.
// `first`: the first failure of the job, which must be a hang; null if nothing failed. Prints a message for each dump
// that cannot be used. Throws a base::Error if a session cannot be read.
Divergence find_divergence(JobSessions& job, const SessionFailure* first, const DivergenceOptions& options);

}  // namespace cudadiag::command
