// The sessions of a job with a launcher for each rank or node. They are read one after another, and only a summary of
// each is kept, so that a thousand sessions take little memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/session_state.h"

namespace cudadiag::command {

// How many calls of each rank are kept if a job has several sessions: enough to find where waiting ranks diverge, few
// enough for a thousand ranks.
inline constexpr std::size_t kCallsKept = 256;

struct OpenSession {
  explicit OpenSession(session::Session from) : session(std::move(from)), state(session) {}

  const session::Session session;
  diagnose::SessionState state;
};

// The first failure of a session. Failures with the same key are reported together.
struct FirstFailure {
  analyse::FailureOrder order;
  analyse::Grade grade = analyse::Grade::suspected;
  std::uint64_t key = 0;  // 0: unknown, so it is reported alone
  std::optional<int> rank;
  std::uint32_t pid = 0;
  bool hangs = false;          // a hang, not a failed call
  bool in_collective = false;  // if it hangs: in a collective
};

// A process with a rank, and where PyTorch's Flight Recorder leaves the rank's dump.
struct RankProcess {
  int rank = 0;
  std::uint32_t pid = 0;
  std::string working_folder;
  std::string dump_prefix;       // from its environment; empty if unset
  double began = 0;              // in seconds since the epoch, like the next two
  std::optional<double> ended;   // the time of its last record; nullopt if unknown
  double latest_collective = 0;  // 0 if none was recorded
};

struct JobSession {
  std::filesystem::path folder;
  std::string working_directory;
  std::string foreign;  // why it may belong to another user; empty if it does not
  std::optional<FirstFailure> failure;
  std::vector<analyse::RankState> states;
  std::vector<RankProcess> ranks;
  bool has_collectives = false;       // at least one process called collectives
  bool knows_groups = false;          // NCCL reported the communicators of all such processes
  std::unique_ptr<OpenSession> open;  // null if it was closed
};

class JobSessions {
 public:
  static base::Result<JobSessions> read(const std::vector<std::filesystem::path>& folders);

  std::vector<JobSession>& all() { return sessions_; }
  const std::vector<JobSession>& all() const { return sessions_; }
  // Reads the session again if it was closed. The result is valid for the lifetime of this object.
  base::Result<OpenSession*> open(JobSession& session);
  bool knows_groups() const;

 private:
  std::vector<JobSession> sessions_;
};

}  // namespace cudadiag::command
