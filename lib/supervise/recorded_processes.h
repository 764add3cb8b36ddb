// Reads the processes of a target, running or ended, from the memory of this launcher or of another one, and the Python
// stacks of a stalled process from its own memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"
#include "session/session_folders.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns the processes that have an area. With a writer, also returns the processes that found no free area and
// therefore wrote a file into the pass folder. Adds notes to `session` about what could not be read.
std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session);

// Returns a note on processes that were recorded neither in an area nor in a file; nullopt if there are none.
std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer);

// Returns a sentence, with a hint, about processes that could not be recorded; nullopt if there are none. Processes
// that found no free area do not count.
std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer);

// Returns the pids of processes that are still running and recording.
std::vector<std::uint32_t> recording_processes(const launch::Arena& arena);

// Stores the areas in the folder of the writer's current pass.
std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer);

// Returns how many seconds after `start` (since the epoch) the first process froze; nullopt if none has.
std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start);

// A run whose launcher was killed. The recording was in the launcher's memory, so it is lost. The program may still be
// running.
struct KilledRun {
  std::filesystem::path folder;
  session::LivePlace place;
};

// Reads a run of another launcher: from its memory while the run is in progress, and from its session afterwards.
class LiveRun {
 public:
  // `folder`: the folder of a session. If the session is incomplete and its launcher exists, reads the run from the
  // launcher's memory.
  static std::variant<LiveRun, KilledRun, base::Error> open(const std::filesystem::path& folder);

  base::Result<session::Session> read();
  // Adds the current Python stacks of live processes to `session`, which read() returned.
  void add_host_stacks(session::Session& session) const;
  // Returns whether, at the latest read(), the launcher of the run still existed or, if the run had no launcher, any of
  // its processes. Returns nullopt if unknown.
  std::optional<bool> goes_on() const { return goes_on_; }
  const std::filesystem::path& folder() const { return folder_; }
  // Returns false if the process has ended, or if that is unknown.
  bool lives(const session::Process& process) const;

 private:
  base::Result<session::Session> read_session();
  explicit LiveRun(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
  std::optional<launch::Arena> arena_;
  std::optional<bool> goes_on_ = false;
};

// Reads the memory of a stalled process to find out where its Python threads are. The recorder does not know, because
// it sees only calls that issue GPU work.
//
// The process keeps running while its memory is read. The launcher can open /proc/PID/mem of its descendants unless the
// kernel forbids it. A frame may change during a read. Its objects then have the wrong types, or a second read gives a
// different stack. In both cases, the stack is dropped.
//
// Returns the stacks of live threads that had issued GPU work. Empty if there are none, or if the memory cannot be
// read.
std::vector<session::HostStack> host_stacks(const session::Process& process);

}  // namespace cudadiag::supervise
