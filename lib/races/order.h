// The happens-before order of one process's operations, according to its calls into the driver. Each stream and each
// event has a vector clock. The host has a single clock, because its threads order each other in ways that no call
// shows: whatever a thread issues comes after everything that any thread has seen finish.
//
// Calls arrive in the order of issue. Each call is one moment.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "races/access.h"
#include "races/clock.h"

namespace cudadiag::races {

struct StreamTraits {
  std::uint64_t handle = 0;   // as the program passes it
  std::uint32_t context = 0;  // any number that tells contexts apart
  bool legacy = false;        // the default stream: it and its context's blocking streams wait for each other
  bool blocking = true;
};

class Order {
 public:
  StreamNumber stream_made(const StreamTraits& traits);
  // The stream receives no more operations, but earlier ones may still be running. If there are very many streams like
  // this, assumes that the oldest have finished.
  void stream_gone(StreamNumber stream);
  const StreamTraits& traits(StreamNumber stream) const { return streams_[stream].traits; }

  // Adds an operation to the stream. Returns its position in the order of all operations.
  Moment issue(StreamNumber stream);

  // Adds an event in which nothing has been recorded yet.
  void event_made(std::uint64_t event);
  void event_gone(std::uint64_t event) { events_.erase(event); }
  void event_recorded(std::uint64_t event, StreamNumber stream);
  // If no recorded call created or recorded the event, for example because another process did, the order of the wait
  // is unknown.
  void event_waited(std::uint64_t event, StreamNumber stream);
  void event_seen(std::uint64_t event);  // the host saw that the event had completed

  void stream_seen(StreamNumber stream);
  void context_seen(std::uint32_t context);

  // For a word in memory that a stream writes or waits for. Kernels and the host may also write to it. `meets` tests
  // whether a value ends the wait; if empty, assumes that the latest value does.
  void word_written(std::uint64_t address, StreamNumber stream, std::uint64_t value = 0);
  void word_waited(std::uint64_t address, StreamNumber stream, const std::function<bool(std::uint64_t)>& meets = {});
  // The stream's latest operation overwrites these words by other means. Assumes that a stream waiting for one of them
  // waits for a value written later.
  void words_overwritten(std::uint64_t begin, std::uint64_t end, StreamNumber stream);
  // The stream reaches a host function. There, the host may learn without a driver call that everything before it has
  // finished.
  void host_told(StreamNumber stream);
  // The stream waits for something outside this process.
  void stranger_waited(StreamNumber stream);
  // Something untracked happened: whatever was issued before it may come before whatever follows.
  void stranger_met() { unsure_until_ = now_; }

  // Launches of one executable graph run one after another, even on different streams.
  Moment graph_launched(std::uint64_t executable, StreamNumber stream);
  void graph_gone(std::uint64_t executable) { graphs_.erase(executable); }

  // Returns whether the access comes before everything that will be issued to the stream.
  bool before(const Access& access, StreamNumber stream) const;
  // Returns whether the access comes before everything that will be issued.
  bool done(const Access& access) const;
  // Returns whether the access may come before what will be issued to the stream, in an order that we cannot see.
  bool uncertain(const Access& access, StreamNumber stream) const;
  // Returns whether the stream may have waited for something that the driver does not report.
  bool vague(StreamNumber stream) const { return streams_[stream].clock.vague(); }
  // Returns whether the stream ever waited for work of the other stream.
  bool ever_waited(StreamNumber stream, StreamNumber other) const;

  Moment now() const { return now_; }

 private:
  struct Stream {
    StreamTraits traits;
    Component component = 0;
    Clock clock;
    Moment legacy_seen = 0;
    Moment blurred = 0;    // since when it may have waited for more than its clock shows; 0 if it has not
    bool active = false;   // something was issued since the host last waited for the context's streams
    bool pending = false;  // likewise, by the legacy stream
  };
  struct Context {
    Component barrier = 0;
    std::vector<StreamNumber> active, pending;
    // Progress of streams that were in these lists and no longer exist.
    Clock gone_active, gone_pending;
    StreamNumber legacy = 0;
    Moment legacy_at = 0;  // 0 if it has had no operation
  };
  // A point of a stream that others may wait for.
  struct Point {
    Clock clock;
    Component component = 0;
    Moment at = 0;
  };

  // A value that a word received, and which operation wrote it. Without a value, we cannot tell which waits it ends.
  struct Written {
    Point point;
    StreamNumber stream = 0;
    std::optional<std::uint64_t> value;
  };
  using Word = std::vector<Written>;  // the latest values

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
  std::vector<Moment> host_;  // by component
  Clock told_;                // what the host may know without asking the driver
  Moment unsure_until_ = 0;   // whatever was issued up to here may come before whatever follows
};

}  // namespace cudadiag::races
