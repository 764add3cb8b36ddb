// The collectives that one process launched, recognised by their kernels; ranks.h compares these sequences. A sequence
// holds no reference to its process, and is small enough that a thousand of them fit in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

// Recognises the kernel by its name, mangled or not.
bool is_collective(std::string_view kernel);
bool launches_collective(const session::ProcessRecord& record, const session::Operation& operation);
bool calls_collectives(const session::Process& process);

class CollectiveSequence {
 public:
  struct Call {
    std::size_t operation = 0;                 // index in ProcessRecord::operations
    wire::site_key::Key line = 0, kernel = 0;  // 0 if unknown
    session::Dim3 grid{};
    std::uint16_t thread = 0;
    bool blocks = false;  // its stream is, or may be, blocked in it
    // How many other kernels were launched since the previous collective; nullopt if some are not recorded.
    std::optional<std::uint64_t> kernels_before{};
    double waited = 0;  // seconds from the last operation of its thread to the end of the recording
  };

  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  // Keeps at most the latest `most` calls.
  explicit CollectiveSequence(const session::Process& process, std::size_t most = kAll);

  std::optional<int> rank() const { return rank_; }
  std::uint32_t pid() const { return pid_; }
  const std::string& host() const { return host_; }
  double began() const { return began_; }                 // seconds since the epoch
  std::optional<double> ended() const { return ended_; }  // when the process was last known to run
  // How many collectives the process launched in the whole run. Collectives are numbered from 1.
  std::uint64_t issued() const { return issued_; }
  // The number of the first collective that is kept.
  std::uint64_t first() const { return issued_ - calls_.size() + 1; }
  // Returns whether every collective after first() is recorded.
  bool whole() const { return whole_; }
  // Returns whether the process launched kernels in which only two ranks take part, such as sends.
  bool pairs_only() const { return pairs_only_; }
  // Returns whether a stream is, or may be, blocked in a collective.
  bool is_blocked() const { return is_blocked_; }

  // Returns null if no call has that number or the call is not kept.
  const Call* at(std::uint64_t number) const;
  // Returns whether a thread other than `beside` made a call on line `wanted`. Looks only at call `number` and the next
  // few, because only calls issued at nearly the same time can be swapped between ranks.
  bool soon(std::uint64_t number, wire::site_key::Key wanted, std::uint16_t beside) const;

 private:
  std::optional<int> rank_;
  std::uint32_t pid_ = 0;
  std::string host_;
  double began_ = 0;
  std::optional<double> ended_;
  std::uint64_t issued_ = 0;
  std::vector<Call> calls_;
  bool whole_ = false, pairs_only_ = false, is_blocked_ = false;
};

}  // namespace cudadiag::analyse
