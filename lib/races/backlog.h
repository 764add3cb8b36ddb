// Holds back a process's records while the code of a kernel that they mention is being read. The code shows which
// memory the kernel uses, and is needed to check the launch. Records stay in order.
//
// At most kMost records are held back, each for at most kPatience. Records beyond these limits are passed on without
// the kernel's code.
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
#include "session/ring_follower.h"

namespace cudadiag::races {

class Backlog : public session::RingReader {
 public:
  // Returns whether the kernel's code has been read, or will never be read. Requests the code if it was not requested
  // before.
  using IsRead = std::function<bool(std::uint32_t function)>;

  // `area` and `feed` must outlive this object.
  Backlog(std::span<const std::byte> area, Feed& feed, IsRead is_read);

  void record(const std::byte* record) override;
  void lost(std::uint64_t count, std::uint64_t until) override;
  // Reports as lost the records for which the recorder had no room. Call this periodically.
  void look_for_drops();

  // hand_on() passes records on until it reaches one that must still wait. hand_on_all() passes on all records.
  void hand_on();
  void hand_on_all();
  bool empty() const { return held_.empty(); }

  static constexpr std::size_t kMost = 1u << 18;
  static constexpr std::chrono::seconds kPatience{10};

 private:
  struct Held {
    alignas(8) std::array<std::byte, wire::area::kOperationSize> record{};
    std::string parameters;
    std::uint64_t lost = 0, until = 0;  // if `lost` is not 0, this entry represents a gap of that many records
    std::uint32_t kernel = 0;           // the kernel whose code this record waits for; 0 if none
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
