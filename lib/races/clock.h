// A sparse vector clock: the operations that happen before a point on a stream. It is sparse because most streams
// depend on few others. A component is one stream, or all blocking streams of a context together. Its value is the
// component's latest operation that happens before the point.
#pragma once

#include <cstdint>
#include <vector>

namespace cudadiag::races {

// The position of an operation in the order in which its process issues operations. 0 is before all operations.
using Moment = std::uint64_t;
using Component = std::uint32_t;

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

}  // namespace cudadiag::races
