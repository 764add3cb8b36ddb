// Holds a process's records back while the code of a kernel among them is being read, so that what kernels use is known
// when their launches are looked at. Records stay in order.
//
// At most kMost records wait, and none longer than kPatience: then they are handed on, and the code is not known.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>

#include "races/feed.h"
#include "session/area/ring_follower.h"

namespace cudadiag::races {

class Backlog : public session::RingReader {
 public:
  // Whether the code of a kernel has been read, or never will be; asks for it if not.
  using IsRead = std::function<bool(std::uint32_t function)>;

  // `area` and `feed` outlive this.
  Backlog(std::span<const std::byte> area, Feed& feed, IsRead is_read);

  void record(const std::byte* record) override;
  void lost(std::uint64_t count, std::uint64_t until) override;
  // Counts the records that the recorder had no room for. Called now and then.
  void look_for_drops();

  // Hands on what need not wait any longer, or all.
  void hand_on();
  void hand_on_all();
  bool empty() const { return held_.empty(); }

  static constexpr std::size_t kMost = 1u << 18;
  static constexpr std::chrono::seconds kPatience{10};

 private:
  struct Held {
    alignas(8) std::array<std::byte, wire::area::kOperationSize> record{};
    std::string parameters;
    std::uint64_t lost = 0, until = 0;  // lost: not 0: no record, but this
    std::uint32_t kernel = 0;           // whose code it waits for; 0: for none
    std::chrono::steady_clock::time_point since{};
  };

  void hand_on(const Held& held);

  std::span<const std::byte> area_;
  Feed& feed_;
  IsRead is_read_;
  std::deque<Held> held_;
  std::uint64_t drops_ = 0, newest_ = 0;
};

}  // namespace cudadiag::races
