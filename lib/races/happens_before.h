// Computes the happens-before order of one process's operations from its driver calls. Each stream and each event has a
// vector clock. The host has a single clock, because its threads synchronise without driver calls. An operation issued
// by any thread comes after everything that any thread has seen finish.
//
// Report calls in the order of issue. Each issued operation is one Moment.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "races/access.h"

namespace cudadiag::races {

using Component = std::uint32_t;

// A sparse vector clock: the operations that happen before a point on a stream. It is sparse because most streams
// depend on few others. A component is one stream, or all blocking streams of a context together. Its value is the
// component's latest operation that happens before the point.
class Clock {
 public:
  Moment at(Component component) const;
  void raise(Component component, Moment to);
  void join(const Clock& other);

  // True if the stream may have waited for something that the driver does not report. Operations may then be ordered in
  // a way that the clock does not show.
  bool vague() const { return vague_; }
  void blur() { vague_ = true; }
  void sharpen() { vague_ = false; }

  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.component, entry.moment);
  }
  std::size_t size() const { return entries_.size(); }
  // Drops the entries for which `known` returns true. Use this for operations that happen before everything that is
  // issued from now on.
  template <typename Known>
  void drop_if(const Known& known) {
    std::erase_if(entries_, [&](const Entry& entry) { return known(entry.component, entry.moment); });
  }

 private:
  struct Entry {
    Moment moment;
    Component component;
  };
  std::vector<Entry> entries_;  // sorted by component
  bool vague_ = false;
};

struct StreamTraits {
  std::uint64_t handle = 0;   // as the program passes it
  std::uint32_t context = 0;  // any number that is unique to the context
  bool legacy = false;        // the legacy default stream, which synchronises with its context's blocking streams
  bool blocking = true;
};

class Order {
 public:
  StreamNumber stream_made(const StreamTraits& traits);
  // The stream was destroyed, but its operations may still be running. If very many streams were destroyed, assumes
  // that the oldest of them have finished.
  void stream_gone(StreamNumber stream);
  const StreamTraits& traits(StreamNumber stream) const { return streams_[stream].traits; }

  // Adds an operation to the stream. Returns its position in the order of all operations.
  Moment issue(StreamNumber stream);

  // Adds an event in which nothing has been recorded yet.
  void event_made(std::uint64_t event);
  void event_gone(std::uint64_t event) { events_.erase(event); }
  void event_recorded(std::uint64_t event, StreamNumber stream);
  // If the event is unknown, for example because another process created it, the order of the wait is unknown.
  void event_waited(std::uint64_t event, StreamNumber stream);
  void event_seen(std::uint64_t event);  // the host saw that the event had completed

  void stream_seen(StreamNumber stream);
  void context_seen(std::uint32_t context);

  // The stream writes a word in memory, or waits for its value. Kernels and the host may also write to the word.
  // `meets` tests whether a value ends the wait; if empty, assumes that the latest value does.
  void word_written(std::uint64_t address, StreamNumber stream, std::uint64_t value = 0);
  void word_waited(std::uint64_t address, StreamNumber stream, const std::function<bool(std::uint64_t)>& meets = {});
  // The stream's latest operation overwrites these words in another way, for example with a copy. Assumes that the new
  // contents do not end a wait.
  void words_overwritten(std::uint64_t begin, std::uint64_t end, StreamNumber stream);
  // The stream reaches a host function. The host function may tell the host that everything before it on the stream has
  // finished.
  void host_told(StreamNumber stream);
  // The stream waits for something outside this process.
  void stranger_waited(StreamNumber stream);
  // Something untracked happened. Every operation issued before it may be ordered before every later operation.
  void stranger_met() { unsure_until_ = now_; }

  // Launches of one executable graph run one after another, even on different streams.
  Moment graph_launched(std::uint64_t executable, StreamNumber stream);
  void graph_gone(std::uint64_t executable) { graphs_.erase(executable); }

  // Returns whether the access happens before every later operation on the stream.
  bool before(const Access& access, StreamNumber stream) const;
  // Returns whether the access happens before every later operation.
  bool done(const Access& access) const;
  // Returns whether untracked synchronisation may order the access before later operations on the stream.
  bool uncertain(const Access& access, StreamNumber stream) const;
  // Returns whether the stream may have waited for something that the driver does not report.
  bool vague(StreamNumber stream) const { return streams_[stream].clock.vague(); }
  bool ever_waited(StreamNumber stream, StreamNumber other) const;

  Moment now() const { return now_; }

 private:
  struct Stream {
    StreamTraits traits;
    Component component = 0;
    Clock clock;
    Moment legacy_seen = 0;
    Moment blurred = 0;    // the first moment at which it may have waited for more than its clock shows; 0 if none
    bool active = false;   // something was issued since the host last waited for the context's streams
    bool pending = false;  // something was issued since the legacy stream last waited for this stream
  };
  struct Context {
    Component barrier = 0;
    std::vector<StreamNumber> active, pending;
    // Merged clocks of the destroyed streams that were in `active` and in `pending`.
    Clock gone_active, gone_pending;
    StreamNumber legacy = 0;
    Moment legacy_at = 0;  // 0 if it has had no operation
  };
  // A position on a stream that other streams may wait for.
  struct Point {
    Clock clock;
    Component component = 0;
    Moment at = 0;
  };

  // A value written to a word, and the operation that wrote it. `value` is nullopt if it is unknown.
  struct Written {
    Point point;
    StreamNumber stream = 0;
    std::optional<std::uint64_t> value;
  };
  using Word = std::vector<Written>;  // the latest values of a word

  Context& context_of(std::uint32_t context);
  void remember(Point& point, StreamNumber stream) const;
  void join(Clock& clock, const Point& point);
  void prune(Clock& clock) const;
  void host_joins(const Clock& clock, Component component, Moment at);
  void finished(Stream& stream);
  void tell(StreamNumber stream);
  void note_written(Word& word, StreamNumber stream, std::optional<std::uint64_t> value) const;
  bool follows(const Written& later, const Written& earlier) const;
  const Written* surely_met(const Word& word, StreamNumber stream,
                            const std::function<bool(std::uint64_t)>& meets) const;
  void note_blur(Stream& stream) const;
  bool covers(const Clock& clock, const Access& access) const;
  void raise_host(Component component, Moment at);
  bool host_knows(Component component, Moment at) const { return component < host_.size() && host_[component] >= at; }

  Moment now_ = 0;
  Component components_ = 0;
  std::deque<Stream> streams_;
  std::deque<Component> gone_;  // the latest destroyed streams
  std::unordered_map<std::uint32_t, Context> contexts_;
  std::unordered_map<std::uint64_t, Point> events_, graphs_;
  std::map<std::uint64_t, Word> words_;
  std::vector<Moment> host_;  // indexed by component
  Clock told_;                // operations that the host may know to be finished without a driver call
  Moment unsure_until_ = 0;   // operations issued up to this moment may be ordered before all later ones
};

}  // namespace cudadiag::races
