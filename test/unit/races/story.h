// Issues calls as the driver sees them, for tests of stream order and races.
#pragma once

#include <map>
#include <utility>

#include "races/access_history.h"
#include "races/happens_before.h"

namespace cudadiag::races {

inline constexpr std::uint64_t kA = 0x7f0000000000, kB = 0x7f0000100000;  // the addresses of two buffers

class Story {
 public:
  StreamNumber stream(std::uint32_t context = 0) { return order.stream_made({++handle_, context, false, true}); }
  StreamNumber non_blocking(std::uint32_t context = 0) { return order.stream_made({++handle_, context, false, false}); }
  StreamNumber legacy(std::uint32_t context = 0) { return order.stream_made({1, context, true, true}); }

  // Launches a kernel that accesses its only pointer with `mode`. Every launch uses a new function.
  void kernel(StreamNumber stream, Mode mode, std::uint64_t address = kA) {
    Access access = base(order.issue(stream), stream);
    access.begin = address;
    access.mode = mode;
    access.function = ++functions_;
    history.add(access);
  }
  void reads(StreamNumber stream, std::uint64_t address = kA) { kernel(stream, Mode::read, address); }
  void writes(StreamNumber stream, std::uint64_t address = kA) { kernel(stream, Mode::write, address); }

  void copy(StreamNumber stream, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    Access access = base(order.issue(stream), stream);
    access.what = What::copy;
    access.exact = true;
    access.width = bytes;
    for (const auto& [begin, mode] : {std::pair{from, Mode::read}, std::pair{to, Mode::write}}) {
      access.begin = begin;
      access.mode = mode;
      history.add(access);
    }
  }
  void range(StreamNumber stream, What what, std::uint64_t begin, std::uint64_t bytes, Mode mode = Mode::write) {
    Access access = base(order.issue(stream), stream);
    access.what = what;
    access.exact = true;
    access.begin = begin;
    access.width = bytes;
    access.mode = mode;
    history.add(access);
  }
  void memset(StreamNumber stream, std::uint64_t begin, std::uint64_t bytes) {
    range(stream, What::memset, begin, bytes);
  }
  void rows(StreamNumber stream, std::uint64_t begin, std::uint64_t width, std::uint64_t pitch, std::uint32_t count) {
    Access access = base(order.issue(stream), stream);
    access.what = What::memset;
    access.exact = true;
    access.begin = begin, access.width = width, access.pitch = pitch, access.rows = count;
    access.mode = Mode::write;
    history.add(access);
  }

  std::size_t races() const { return history.races().size(); }
  // Returns true if there is exactly one race, and it is certain.
  bool one_race() const { return races() == 1 && !history.races().front().possible; }
  bool one_possible_race() const { return races() == 1 && history.races().front().possible; }

  Order order;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Mode> modes;  // by function and parameter
  std::size_t asked = 0;
  History history{order, [this](const Access& access) {
                    ++asked;
                    const auto known = modes.find({access.function, access.parameter});
                    return known == modes.end() ? Mode::unknown : known->second;
                  }};

 private:
  Access base(Moment at, StreamNumber stream) {
    Access access;
    access.at = at;
    access.stream = stream;
    access.site = ++sites_;
    return access;
  }

  std::uint64_t handle_ = 0x1000;
  std::uint32_t sites_ = 0, functions_ = 0;
};

}  // namespace cudadiag::races
