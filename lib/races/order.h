// The order between operations of one process: happens-before, as the calls into the driver show it. There is a vector
// clock per stream and per event. The host has one clock, because its threads order each other by means that no call
// shows. Whatever any thread issues comes after everything that any thread has seen finish.
//
// Calls arrive in the order of issue. Every call is one moment.
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
  std::uint32_t context = 0;  // any number that distinguishes contexts
  bool legacy = false;        // the default stream: it and its context's blocking streams wait for each other
  bool blocking = true;
};

class Order {
 public:
  StreamNumber stream_made(const StreamTraits& traits);
  // The stream receives no more operations; earlier ones may still be running. If there are very many such streams, the
  // oldest are assumed to have finished.
  void stream_gone(StreamNumber stream);
  const StreamTraits& traits(StreamNumber stream) const { return streams_[stream].traits; }

  // Puts an operation into the stream and returns its moment.
  Moment issue(StreamNumber stream);

  // Adds an event in which nothing has been recorded yet.
  void event_made(std::uint64_t event);
  void event_gone(std::uint64_t event) { events_.erase(event); }
  void event_recorded(std::uint64_t event, StreamNumber stream);
  // If no call created or recorded the event (another process did, for example), the order of the wait is unknown.
  void event_waited(std::uint64_t event, StreamNumber stream);
  void event_seen(std::uint64_t event);  // the host saw that the event had completed

  void stream_seen(StreamNumber stream);
  void context_seen(std::uint32_t context);

  // A word in memory that a stream writes or waits for. Kernels and the host can write it too. `meets` tests whether a
  // value ends the wait; if it is empty, the latest value is assumed to end it.
  void word_written(std::uint64_t address, StreamNumber stream, std::uint64_t value = 0);
  void word_waited(std::uint64_t address, StreamNumber stream, const std::function<bool(std::uint64_t)>& meets = {});
  // The stream's latest operation overwrites words by other means. A stream that waits for one of these words is
  // assumed to wait for a value written afterwards.
  void words_overwritten(std::uint64_t begin, std::uint64_t end, StreamNumber stream);
  // The stream reaches a host function. The host may learn there, without a driver call, that everything before it has
  // finished.
  void host_told(StreamNumber stream);
  // The stream waits for something outside this process.
  void stranger_waited(StreamNumber stream);
  // Something untracked happened: everything issued before it may come before everything that follows.
  void stranger_met() { unsure_until_ = now_; }

  // Launches of one executable graph are ordered one after another, on any streams.
  Moment graph_launched(std::uint64_t executable, StreamNumber stream);
  void graph_gone(std::uint64_t executable) { graphs_.erase(executable); }

  // Returns whether the access comes before everything that is issued to the stream from now on.
  bool before(const Access& access, StreamNumber stream) const;
  // Returns whether the access comes before everything that is issued from now on.
  bool done(const Access& access) const;
  // Returns whether there may nevertheless be an order between the access and what is issued to the stream from now on.
  bool uncertain(const Access& access, StreamNumber stream) const;
  // Returns whether the stream may have waited for something that the driver does not report.
  bool vague(StreamNumber stream) const { return streams_[stream].clock.vague(); }
  // Returns whether the stream ever waited for something that the other stream ran.
  bool ever_waited(StreamNumber stream, StreamNumber other) const;

  Moment now() const { return now_; }

 private:
  struct Stream {
    StreamTraits traits;
    Component component = 0;
    Clock clock;
    Moment legacy_seen = 0;
    Moment blurred = 0;    // moment since which it may have waited for more than its clock says; 0 if it has not
    bool active = false;   // something was issued since the host last waited for the context's streams
    bool pending = false;  // likewise, by the legacy stream
  };
  struct Context {
    Component barrier = 0;
    std::vector<StreamNumber> active, pending;
    // Progress of those streams among them that no longer exist.
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

  // A value that a word received, and the operation that wrote it. Without a value, no wait is known to end with it.
  struct Written {
    Point point;
    StreamNumber stream = 0;
    std::optional<std::uint64_t> value;
  };
  using Word = std::vector<Written>;  // the latest ones

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
  std::deque<Component> gone_;  // of destroyed streams, the latest ones
  std::unordered_map<std::uint32_t, Context> contexts_;
  std::unordered_map<std::uint64_t, Point> events_, graphs_;
  std::map<std::uint64_t, Word> words_;
  std::vector<Moment> host_;  // by component
  Clock told_;                // what the host may know without having asked the driver
  Moment unsure_until_ = 0;   // everything issued up to here may come before whatever follows
};

}  // namespace cudadiag::races
