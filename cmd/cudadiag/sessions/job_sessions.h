// The sessions of a job with a launcher for each rank or node. Only a few are read at a time, and only a summary of each
// is kept, so that a thousand sessions take little memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/hangs/collective_sequence.h"
#include "diagnose/session_state.h"

namespace cudadiag::command {

// How many calls to keep for each rank of a job with several sessions or, if NCCL reported no calls, how many launches
// of collectives. Enough to find where waiting ranks diverge, and few enough for a thousand ranks.
inline constexpr std::size_t kCallsKept = 256, kLaunchesKept = 1024;

struct OpenSession {
  explicit OpenSession(session::Session from) : session(std::move(from)), state(session) {}

  const session::Session session;
  diagnose::SessionState state;
};

// The first failure of a session. Failures with equal keys are reported together.
struct FirstFailure {
  analyse::FailureOrder order;
  analyse::Grade grade = analyse::Grade::suspected;
  std::uint64_t key = 0;  // 0 if unknown; then it is reported alone
  std::optional<int> rank;
  std::uint32_t pid = 0;
  bool hangs = false;          // it is a hang, not a failed call
  bool in_collective = false;  // if it is a hang: a hang in a collective
};

// A process that has a rank, and where PyTorch's Flight Recorder leaves that rank's dump.
struct RankProcess {
  int rank = 0;
  std::uint32_t pid = 0;
  std::string working_folder;
  std::string dump_prefix;       // from its environment; empty if unset there
  double began = 0;              // in seconds since the epoch, like the next two members
  std::optional<double> ended;   // when it made its last record; nullopt if unknown
  double latest_collective = 0;  // 0 if none was recorded
};

// The collectives of a process, and its index in the session.
struct ProcessCollectives {
  analyse::CollectiveSequence sequence;
  std::size_t process = 0;
};

struct JobSession {
  std::filesystem::path folder;
  std::string working_directory;
  std::string foreign;  // why it may belong to another user; empty if it does not
  std::optional<FirstFailure> failure;
  std::vector<analyse::RankState> states;
  std::optional<std::vector<ProcessCollectives>> collectives;  // nullopt if `states` has all calls, so they are not
                                                               // needed
  std::vector<RankProcess> ranks;
  bool knows_groups = false;          // NCCL reported the communicators of all these processes
  std::unique_ptr<OpenSession> open;  // null if the session is closed
};

class JobSessions {
 public:
  static base::Result<JobSessions> read(const std::vector<std::filesystem::path>& folders);

  std::vector<JobSession>& all() { return sessions_; }
  const std::vector<JobSession>& all() const { return sessions_; }
  // Opens the session again if it is closed. The result is valid until the next call, because only one session of a
  // large job is open at a time.
  base::Result<OpenSession*> open(JobSession& session);
  // Reads the collectives of the session's processes from their kernels, as if NCCL had reported none.
  std::optional<base::Error> read_collectives(JobSession& session);
  bool knows_groups() const;

 private:
  std::vector<JobSession> sessions_;
  JobSession* latest_ = nullptr;  // the session that was opened last
};

}  // namespace cudadiag::command
