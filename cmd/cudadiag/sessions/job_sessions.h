// The sessions of a job with a launcher for each rank or node: read one after another, of which only a summary is kept,
// so that a thousand of them take little memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/session_state.h"

namespace cudadiag::command {

struct OpenSession {
  explicit OpenSession(session::Session from) : session(std::move(from)), state(session) {}

  const session::Session session;
  diagnose::SessionState state;
};

// The first failure of a session. Those with the same key are reported alike.
struct FirstFailure {
  analyse::FailureOrder order;
  analyse::Grade grade = analyse::Grade::suspected;
  std::uint64_t key = 0;  // 0: it is like no other
  std::optional<int> rank;
  std::uint32_t pid = 0;
  bool hangs = false;          // not a failed call
  bool in_collective = false;  // of those that hang
};

struct JobSession {
  std::filesystem::path folder;
  std::string working_directory;
  std::string foreign;  // why it is not the reader's own; empty: it is
  std::optional<FirstFailure> failure;
  std::vector<analyse::RankState> states;
  bool has_collectives = false;       // a process of it called some
  bool knows_groups = false;          // NCCL told of the communicators of all that did
  std::unique_ptr<OpenSession> open;  // null: opened again when it is asked for
};

class JobSessions {
 public:
  static base::Result<JobSessions> read(const std::vector<std::filesystem::path>& folders);

  std::vector<JobSession>& all() { return sessions_; }
  const std::vector<JobSession>& all() const { return sessions_; }
  // Reads the session again if it was closed. The result is valid for as long as this.
  base::Result<OpenSession*> open(JobSession& session);
  bool knows_groups() const;

 private:
  std::vector<JobSession> sessions_;
};

}  // namespace cudadiag::command
