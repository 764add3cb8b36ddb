// Decides which operations of a live process do not end, though others may: `--hang-report`.
//
// An operation stalls if it has been at the head of its stream for longer than the limit, and for kFarLonger times
// longer than any earlier operation of its call site was seen to take. It does not stall if something else may
// explain that:
// - it may wait for a stream that works on
// - it may wait for a stream that stalls: only that one is found
// - an older operation of the same device, or an older host function, may keep it from starting
// Its time begins anew when such an older operation, or what it waited for, has ended.
//
// A kernel of NCCL waits for other processes. While one of them works on, it may be late: the kernel then has kFarLate
// times as long.
//
// One for each process. It reads no clock: times are seconds on a clock of the caller's, which stands still while the
// process is stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyse/hangs/unfinished_work.h"
#include "session/area/area_progress.h"
#include "session/notes/stalls.h"
#include "session/session.h"

namespace cudadiag::analyse {

// Twice the rows and twice the columns take four times as long: an epoch or a batch like that is ordinary.
inline constexpr double kFarLonger = 4;
inline constexpr double kFarLate = 10;

class StallRule {
 public:
  explicit StallRule(double limit) : limit_(limit) {}

  // Takes a look at how far the streams are. True: judge() is due.
  bool look(double now, const std::vector<session::StreamProgress>& streams);

  // The stalls that are new; `process` as it is at `now`. Call it after look(). `others_work`: another process of the
  // program issues or completes operations.
  std::vector<session::Stall> judge(double now, const session::Process& process, bool others_work);

  struct Ended {
    std::size_t stall = 0;  // its number among all that judge() has returned
    double seconds = 0;     // after which it ended
  };
  // The stalls that have ended since the last call.
  std::vector<Ended> take_ended();

 private:
  // The work that has been at the head of a stream since the stream was last seen to move.
  struct Head {
    session::StreamProgress progress;
    double since = 0;                  // when it was first seen there
    std::optional<double> marked;      // since when it has certainly been unfinished and may have run
    bool held_up = false;              // by another stream, when it was last judged
    double due = 0;                    // when it is to be judged
    std::vector<std::uint32_t> sites;  // of what it may be
    std::optional<std::size_t> stall;  // that was found in it
    double moved = -1;                 // when the latest operation that finished had come to the head; -1: none has
  };
  struct Graph;

  // The work at the head has finished, or its stream is gone.
  void leave(Head& head, double now);
  double patience(const session::Operation& operation, const session::ProcessRecord& record) const;
  bool is_at_head(const UnfinishedStream& stream) const;
  // When the operations that may be at the head must have ended; nothing: that cannot be said.
  std::optional<double> deadline(const UnfinishedWork& work, const UnfinishedStream& stream,
                                 const session::ProcessRecord& record, double now) const;
  Graph graph_of(const UnfinishedWork& work, const session::ProcessRecord& record, double now);
  session::Stall found(const session::Process& process, const Graph& graph, const std::vector<std::size_t>& places,
                       double now);

  double limit_;
  double looked_ = 0;                        // when the latest look was
  bool others_work_ = false;                 // when it was last judged
  std::vector<Head> heads_;                  // by stream
  std::map<std::uint32_t, double> longest_;  // by site: seconds that an operation was seen to take
  std::size_t stalls_ = 0;
  std::vector<Ended> ended_;
};

}  // namespace cudadiag::analyse
