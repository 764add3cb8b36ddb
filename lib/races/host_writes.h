// Finds changes to the source of a pending copy that only the host can have made. The recorder watches the sources of
// some copies (wire/race_record.h). A change is attributed to the host if no recorded operation explains it.
//
// The copies of a graph are watched together until the graph has finished, because each of them may begin late.
//
// A change while the stream was held back certainly came from the host, because everything ordered before the copy had
// finished. An earlier change may come from an operation that is ordered before the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "races/access.h"
#include "races/happens_before.h"

namespace cudadiag::races {

class HostWrites {
 public:
  static constexpr std::size_t kMostFound = 256;

  explicit HostWrites(const Order& order) : order_(order) {}

  // Records an operation that may wait for the host. After this operation, the host may legitimately have changed the
  // source of a copy on its stream.
  void mediator(Moment at, StreamNumber stream) { note(at, stream, Mode::none); }
  // Records an operation that may write to any memory, such as a kernel whose code is unknown.
  void writes_anywhere(Moment at, StreamNumber stream);

  struct Watched {
    std::uint64_t number = 0;
    Access copy;                  // covers all bytes from the first to the last one that the copy reads
    std::vector<Access> sources;  // several for a batch of copies
    // The memory that is watched. Each copy in a graph, and each part of the memory that a kernel reads, is a source.
    enum class Of : std::uint8_t { copy, graph, kernel };
    Of of = Of::copy;
    // Not for copies: a change after the work has begun says nothing, because the work may itself make it, or tell the
    // host to make it.
    bool may_change_inside = false;
    std::uint32_t launched = 0;  // site of the graph's launch
    // Whether an unfinished recorded operation may write to a source of the copy: an operation ordered before the copy
    // (`written_before`), or one unordered with the copy (`written_beside`).
    bool written_before = false, written_beside = false;
  };
  void watch(Watched watched);
  bool any_watched() const { return !watched_.empty(); }
  // Call this for each use of memory.
  void used(const Access& access);

  struct Change {
    std::uint64_t number = 0;
    std::uint64_t begin = 0, end = 0, bytes = 0;
    bool while_held = false, sampled = false, after_begin = false;
    // Sites of two calls of the issuing thread, with no call between them: after the first one, the memory was
    // unchanged; before the second one, it had changed. 0 if unknown. If the memory changes again, it may do so between
    // other calls.
    std::uint32_t unchanged_at = 0, changed_at = 0;
    bool others_ran = false;  // other threads of the process ran between them
  };
  struct Found {
    Access copy;
    Change change;
    std::uint32_t launched = 0;  // see Watched
    std::uint64_t times = 1;
  };
  // Returns false if the change was already known, or if a recorded operation explains it.
  bool changed(Change change);
  // One entry for each call site.
  const std::vector<Found>& found() const { return found_; }
  std::uint64_t unlisted() const { return unlisted_; }

  // Call this after records were lost.
  void forget() {
    watched_.clear();
    mediators_.clear();
  }

 private:
  void note(Moment at, StreamNumber stream, Mode mode);

  const Order& order_;
  std::deque<Watched> watched_;
  std::deque<Access> mediators_;  // only their `at`, `stream` and `mode` are used
  std::vector<Found> found_;
  std::uint64_t unlisted_ = 0;
};

}  // namespace cudadiag::races
