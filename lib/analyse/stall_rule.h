// Finds operations that hang in a live process, even while other work continues, for `--on-hang=report` and for a
// program that the user interrupts.
//
// An operation stalls if it has been at the head of its stream for longer than the limit. It must also have taken
// `far_longer` times as long as the slowest earlier operation of its call site. It does not stall if something else may
// explain the delay:
// - it may wait for a stream that still makes progress
// - it may wait for a stream that stalls: only that stream is reported
// - an older operation of the same device, or an older host function, may keep it from starting
// The time of an operation restarts when whatever may have delayed it has finished.
//
// An NCCL kernel waits for other processes. While another process is working, that process may merely be late, so the
// NCCL kernel may take kFarLate times the limit.
//
// Use one object per process. It reads no clock: times are in seconds on the caller's clock, which must stop while the
// process is stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyse/unfinished_work.h"
#include "session/ring_follower.h"
#include "session/session.h"

namespace cudadiag::analyse {

// An operation must take this many times as long as the slowest earlier one. Batches may differ in size: a matrix with
// twice the rows and columns takes four times as long.
inline constexpr double kFarLonger = 4;
inline constexpr double kFarLate = 10;

class StallRule {
 public:
  explicit StallRule(double limit, double far_longer = kFarLonger) : limit_(limit), far_longer_(far_longer) {}

  // Notes the progress of the streams. Returns true if the caller should now call judge().
  bool look(double now, const std::vector<session::StreamProgress>& streams);

  // Returns the new stalls. Call this after look(), with the state of `process` at `now`. `others_work`: another
  // process of the program issues or completes operations.
  std::vector<session::Stall> judge(double now, const session::Process& process, bool others_work);

  struct Ended {
    std::size_t stall = 0;  // index among all stalls that judge() has returned
    double seconds = 0;     // duration until it ended
  };
  // Returns the stalls that have ended since the last call.
  std::vector<Ended> take_ended();

 private:
  // The work that has been at the head of a stream since the stream last made progress.
  struct Head {
    session::StreamProgress progress;
    double since = 0;                  // when the work was first seen at the head
    std::optional<double> marked;      // when it was first certainly unfinished and not delayed by other work
    bool held_up = false;              // another stream blocked the work at the last check
    double due = 0;                    // when to check the work next
    std::vector<std::uint32_t> sites;  // sites of the operations that may be at the head
    std::optional<std::size_t> stall;  // the index of its stall, if one was found
    double moved = -1;                 // when the latest finished operation reached the head; -1 if none has finished
  };
  struct Graph;

  // Call this when the work at the head has finished, or its stream was destroyed.
  void leave(Head& head, double now);
  double patience(const session::Operation& operation, const session::ProcessRecord& record) const;
  bool is_at_head(const UnfinishedStream& stream) const;
  // Returns the time by which every operation that may be at the head should have finished; nullopt if unknown.
  std::optional<double> deadline(const UnfinishedWork& work, const UnfinishedStream& stream,
                                 const session::ProcessRecord& record, double now) const;
  Graph graph_of(const UnfinishedWork& work, const session::ProcessRecord& record, double now);
  // Notes whether another stream blocks the work. Returns true if one does, or did at the last check.
  bool note_blocked(const Graph& graph, std::size_t place, double now);
  session::Stall found(const session::Process& process, const Graph& graph, const std::vector<std::size_t>& places,
                       double now);

  double limit_, far_longer_;
  double looked_ = 0;                        // time of the latest look()
  bool others_work_ = false;                 // as of the latest judge()
  std::vector<Head> heads_;                  // by stream
  std::map<std::uint32_t, double> longest_;  // the longest time that an operation was seen to take, in seconds, by site
  std::size_t stalls_ = 0;
  std::vector<Ended> ended_;
};

}  // namespace cudadiag::analyse
