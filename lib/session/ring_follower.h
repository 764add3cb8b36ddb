// Reads a live area while its process runs: the records of its rings, each once, in the order of issue; and how far the
// process has got.
//
// Each call of poll() hands out the records that the previous call fetched. By then, the earlier records of all threads
// have been fetched too, so sorting by ticks puts causes before effects. If a ring wraps around between two calls,
// records are lost. The reader is notified of the loss before it receives any record that may follow the lost ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "session/area_reader.h"
#include "wire/area.h"

namespace cudadiag::session {

class RingReader {
 public:
  virtual ~RingReader() = default;
  // `record` has wire::area::kOperationSize bytes and is valid only during the call.
  virtual void record(const std::byte* record) = 0;
  // `count` records are missing between the last record handed out and the first record whose ticks are at least
  // `until`.
  virtual void lost(std::uint64_t count, std::uint64_t until) = 0;
};

class RingFollower {
 public:
  // When to fetch a record: when its call begins, or when the call has returned and its result is known.
  enum class When { issued, returned };
  // `area` must stay mapped as long as this object exists. It may still be all zeros, and its contents are not trusted.
  explicit RingFollower(std::span<const std::byte> area, When when = When::issued) : area_(area), when_(when) {}

  // Returns false if there was nothing new.
  bool poll(RingReader& reader);
  // Hands out everything that is left. Call this once the process has stopped writing.
  void finish(RingReader& reader);
  // Returns, for each thread, the serial up to which every record was fetched or counted as lost.
  const std::vector<std::uint64_t>& done() const { return done_; }

 private:
  static constexpr std::size_t kSize = wire::area::kOperationSize;
  struct Fetched {
    std::uint64_t ticks, serial;
    std::uint32_t thread;
    RecordCopy<kSize> copy;
  };

  bool ready();
  bool returned(const std::byte* slot) const;
  bool fetch(RingReader& reader);
  bool fetch_thread(std::uint32_t thread, std::uint64_t published, RingReader& reader);
  void hand_out(std::uint64_t ticks, RingReader& reader);

  std::span<const std::byte> area_;
  When when_;
  std::span<const std::byte> threads_, rings_;
  std::size_t capacity_ = 0;         // records per ring
  std::vector<std::uint64_t> done_;  // by thread: number of records fetched or lost
  std::vector<Fetched> fetched_;     // sorted by ticks, except what was fetched last
  std::uint64_t ripe_ = 0;           // all records with ticks up to this have been fetched
};

// ---- a live process's progress, read from a few fields of its area, which is cheap enough to be done repeatedly

std::uint64_t operations_so_far(std::span<const std::byte> area);

// Returns a number that changes with progress: when an operation is issued or seen to have finished, or when a call
// that may block begins or returns.
std::uint64_t progress_digest(std::span<const std::byte> area);

// The progress of one of the process's streams.
struct StreamProgress {
  std::uint64_t created = 0;  // ticks; differs between streams that use the same entry; 0 if the entry is free
  std::uint32_t issued = 0;
  std::uint32_t completed = 0;  // ordinal up to which everything has finished, according to markers and host waits

  std::uint32_t marked = 0;  // ordinal of the newest queued marker

  bool busy() const { return created != 0 && issued > completed; }
  // Returns whether the GPU has not written the newest queued marker yet. This proves that the stream has unfinished
  // work.
  bool certainly_busy() const { return busy() && marked > completed; }
};

// Returns one element per stream entry, by index.
std::vector<StreamProgress> stream_progress(std::span<const std::byte> area);

}  // namespace cudadiag::session
