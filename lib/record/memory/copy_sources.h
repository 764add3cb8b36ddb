// Finds host memory that changes before an asynchronous copy, or a copy in a graph, has read it.
//
// The thread that issues the copy saves the bytes of the copy's source, and queues a host function before the copy.
// When that function runs, all work ordered before the copy has finished, and the copy has not begun. The function
// compares the source with the saved bytes, holds the stream for a while, and compares again.
//
// A copy in a graph may begin long after the graph. The sources of all copies in a graph are saved together, and a
// second host function after the graph compares them once more.
//
// The issuing thread compares, too, at ENTER and EXIT of its recorded calls, until it sees a change. If the change came
// between two of its calls, their sites are known. If it came during a call, another thread has made it. These
// comparisons of one watch read at most kMostCompared bytes in total.
//
// Limits: at most kSlots copies are watched at a time. At each call site, the first kAlways copies are watched, then
// one in kSeldom. A stream is held for at most kHold per copy, kMostHeldAtSite per call site, and kMostHeld in total. A
// stream continues at once
//  - if a thread enters or is in a call that may wait for the GPU, or any other call that does more than issue work,
//  - if the program issues a host function, because the driver may run both host functions on one thread,
//  - before memory is freed, before a context ends, and when the process ends.
// The host function makes no CUDA calls, takes no lock and allocates nothing. A stream under capture is not watched.
//
// The sampled form (sample()) queues no host function and holds no stream. At each call site, it watches one copy in N.
// A completion marker follows the copy. A change is seen if it comes while this marker is unwritten. It is reported
// once the marker is written, if neither the GPU nor a correct host can have made it:
//  - No operation that is unfinished at the issue of the copy, or issued later, may write to the source or wait for the
//    host (HostReach). No kernel has ever got an address of host memory, as far as this can be seen.
//  - A correct host may fill the source before the copy has begun, and then let it begin: a kernel before the copy may
//    wait for a word in the GPU's memory. So that only this kernel's own stream could have written the word, all other
//    streams are idle when the copy is issued, and get no operation until it has finished.
//  - A correct host may fill the source once it knows that the copy has finished. On the copy's stream, all that can
//    show this comes after the marker. The other streams are idle. The host cannot read the copy's target. In a graph,
//    whose nodes come before the marker, no node may write to the host.
//  - The process shares no memory of a GPU with others, and no host memory has a second address.
//  - The stream of the copy has not ended, because its marker may then belong to another stream.
// cudadiag-evidence(7) lists the correct programs that are still reported.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/operations/threads.h"

namespace cudadiag::record {

struct SourceRows {
  std::uint64_t address = 0, width = 0, pitch = 0, rows = 1;
  bool pageable = false;

  std::uint64_t end() const { return address + pitch * (rows - 1) + width; }
};

// Saves the bytes of a copy's source, to compare them with the bytes at a later time. A source of at most kRoom bytes
// in at most kMostPieces rows is saved completely. From a larger source, kSamples pieces of kSample bytes are saved,
// spread evenly.
//
// The memory belongs to the program, which may have unmapped it, so each page is probed first. Pageable memory can be
// unmapped even between the probe and the read, so the kernel reads it. The class takes no locks, and allocates
// nothing.
class SourceSnapshot {
 public:
  static constexpr std::size_t kRoom = 1u << 20, kMostPieces = 1024, kSamples = 256, kSample = 4096;

  // Returns false if a part of the source cannot be read. With `apart`, compare() reports changes of only one source.
  bool take(const SourceRows* sources, std::size_t count, bool apart = false);
  bool sampled() const { return sampled_; }
  bool meets(std::uint64_t begin, std::uint64_t end) const { return low_ < end && begin < high_; }

  struct Difference {
    bool since_last = false;           // true if something changed after the previous comparison
    std::uint64_t begin = 0, end = 0;  // from the first to the last byte that changed since the snapshot
    std::uint64_t bytes = 0;
  };
  // Returns false if a part of the source cannot be read.
  bool compare(Difference& difference);
  // Compares at most kPart bytes at kMostParts places with the snapshot, and adds the effort in bytes to `effort`.
  // Returns false if they cannot be read. Another thread may call compare() meanwhile.
  bool is_same(std::size_t& effort, bool& same) const;

 private:
  static constexpr std::size_t kPart = 2048, kMostParts = 64, kEffortOfRead = 512;

  struct Piece {
    std::uint64_t address;
    std::uint32_t bytes, source;
  };

  void choose_all(const SourceRows* sources, std::size_t count);
  void choose_samples(const SourceRows* sources, std::size_t count, std::uint64_t total);
  void add(std::uint64_t address, std::uint64_t bytes, std::size_t source);
  bool read(std::uint64_t address, std::size_t bytes, std::byte* to) const;

  std::size_t count_, bytes_;
  bool sampled_, compared_, apart_, pageable_;
  std::uint64_t low_, high_;
  Piece pieces_[kMostPieces];
  std::byte first_[kRoom], last_[kRoom];  // contents of all pieces, one after another
};

// The process's pinned memory that the recorder may read. This is allocated or registered memory that is neither
// write-combined nor device memory. The ranges are sorted by address. Ranges beyond kMost are dropped. The class has
// one lock, which is held only briefly.
class PinnedRanges {
 public:
  static constexpr std::size_t kMost = 4096;

  // Call this at EXIT of a call that has allocated or registered memory. `parameters` is CUPTI's structure.
  void made(std::uint32_t id, const void* parameters, std::uint64_t begin, std::uint64_t bytes);
  // Removes the range that begins at the address. Returns the end of the range, or `begin` if the range is unknown.
  std::uint64_t gone(std::uint64_t begin);
  void clear();
  // Adds a range of any memory, joined with the ranges that it meets. Such a range never goes. Returns false if the
  // table is full.
  bool join(std::uint64_t begin, std::uint64_t end);
  bool meet(std::uint64_t begin, std::uint64_t end) const;
  bool contain(std::uint64_t begin, std::uint64_t end) const { return begin < end && end <= end_around(begin); }
  // Returns the end of the range that contains the address; 0 if there is none.
  std::uint64_t end_around(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t begin, end;
  };

  // Returns the index of the first range that begins after the address.
  std::size_t after(std::uint64_t address) const;
  void add(std::uint64_t begin, std::uint64_t bytes);

  mutable Mutex mutex_;
  std::size_t count_ = 0;
  std::array<Range, kMost> ranges_;
};

// Tells whether the GPU has finished an operation, and all operations of the other streams (operations/streams.h).
struct Progress {
  const void* streams = nullptr;
  bool (*has_finished)(const void* streams, std::uint32_t stream, std::uint32_t ordinal) = nullptr;
  bool (*are_idle)(const void* streams, std::uint32_t but) = nullptr;

  bool finished(std::uint32_t stream, std::uint32_t ordinal) const { return has_finished(streams, stream, ordinal); }
  bool others_are_idle(std::uint32_t stream) const { return are_idle(streams, stream); }
};

// Operations of the process that may write to host memory, or wait until the host writes to it. Call add() before the
// operation is issued. The class has one lock, which is held only briefly.
class HostReach {
 public:
  static constexpr std::size_t kMost = 64;

  struct Operation {
    std::uint32_t stream = 0, ordinal = 0;
    std::uint64_t begin = 0, end = ~std::uint64_t{0};  // the bytes that it writes, or all if it waits for the host
  };
  void add(const Progress& progress, const Operation& operation);
  // Returns false if an unfinished operation may reach the bytes.
  bool is_free(const Progress& progress, std::uint64_t begin, std::uint64_t end) const;
  // Returns the number of operations so far. reached_since() tells whether a later one may reach the bytes.
  std::uint64_t now() const;
  bool reached_since(std::uint64_t now, std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Entry {
    Operation operation;
    std::uint64_t number;  // 0: free
  };

  mutable Mutex mutex_;
  std::uint64_t newest_ = 0, dropped_ = 0;  // numbers
  bool full_ = false;                       // an unfinished operation was dropped
  std::array<Entry, kMost> entries_{};
};

class CopySources {
 public:
  static constexpr std::size_t kSlots = 24;
  static constexpr std::uint32_t kAlways = 64, kSeldom = 16;
  static constexpr std::size_t kMostSampled = 16;
  static constexpr std::size_t kMostCompared = 2u << 20, kMostCompletely = 4u << 20;
  static constexpr std::uint64_t kHold = 20'000'000, kMostHeldAtSite = 100'000'000, kMostHeld = 1'000'000'000;  // ns

  // Fails silently if memory cannot be allocated, or if the driver lacks a function. on() then stays false.
  void start(const DriverApi& driver);
  bool on() const { return on_.load(std::memory_order_relaxed); }
  PinnedRanges& pinned() { return pinned_; }

  enum class Until : std::uint8_t { begin, end };
  struct Issuer {
    std::uint32_t site;
    std::uint16_t thread;
  };
  // Call this at ENTER of an asynchronous copy out of pinned memory, or of a graph launch. `stream` is the call's
  // stream, which must not be under capture. Returns a number for the watch, or 0 if the sources are not watched. With
  // Until::end, ends() must follow once the call has returned.
  std::uint64_t watch(Issuer issuer, CUstream stream, const SourceRows* sources, std::size_t count,
                      Until until = Until::begin);
  // `stream` is null if the call has failed.
  void ends(std::uint64_t number, const CUstream* stream);

  // Starts the sampled form, instead of start().
  void sample(const Progress& progress, std::uint32_t every);
  bool samples() const { return every_ != 0; }
  HostReach& reach() { return reach_; }
  const Progress& progress() const { return progress_; }
  struct Place {
    std::uint32_t stream, ordinal;
  };
  struct Sampled {
    SourceRows rows;
    // For a copy in a graph, these hold the site of its node, and the node's index plus 1.
    std::uint32_t site = 0, node = 0;
  };
  // Call this at ENTER of an asynchronous copy out of pinned memory, or of a launch of a graph with such copies. `site`
  // is the call's site. Returns true for one call in N.
  bool is_due(std::uint32_t site);
  // Call this if the copy is due. The host must not be able to read its target, and a graph must show the host nothing
  // before it has finished. Only the first kMostSampled sources are compared. Returns a number for the watch, or 0 if
  // the source is not watched. Otherwise, issued() must follow once the call has returned.
  std::uint64_t watch_sampled(Issuer issuer, Place place, const Sampled* sources, std::size_t count);
  // `marked`: a marker directly follows the operation at `place`.
  void issued(std::uint64_t number, Place place, bool marked);
  // Call this at ENTER of any operation, once its stream counts it. Ends the watches of copies in other streams.
  void others_issue(std::uint32_t stream);
  // Call this instead of compare_by() for a kernel.
  void pass_by(std::uint16_t thread);
  // Ends the watches of copies that have finished.
  void settle_all();

  enum class At : std::uint8_t { enter, exit };
  // Returns whether the thread has issued work whose sources it should compare.
  bool compares(std::uint16_t thread) const;
  // Call this at ENTER and EXIT of the calls of a thread that compares(). The sampled form compares the source
  // completely if the call issues no operation.
  void compare_by(Issuer call, At at, bool issues = true);

  // Call these around calls that may wait for the GPU.
  void wait_begins();
  void wait_ends() { waiting_.fetch_sub(1); }
  // Permanently stops holding streams. The sources of copies are still compared.
  void hold_no_more();
  // Call this before memory is freed.
  void forget(std::uint64_t begin, std::uint64_t end);
  void forget_all() { forget(0, ~std::uint64_t{0}); }
  // Call this when the process ends. No source is read afterwards.
  void end();

  struct Change {
    std::uint64_t number, begin, end, bytes;
    bool while_held, sampled, after_begin;
    // The sites of the calls of this thread after which the source was unchanged, and before which it had changed. 0:
    // no such call.
    std::uint32_t unchanged, changed;
    std::uint16_t thread;
    bool others_ran;  // other threads of the process ran between these calls
    // Only in the sampled form: the source, the site of the call that issued the work, and the index of its stream.
    Sampled source{};
    std::uint32_t site = 0, stream = 0;
  };
  bool has_changes() const { return changes_.load(std::memory_order_relaxed) > 0; }
  bool take_change(Change& change);

 private:
  enum class State : std::uint32_t { free, taken, queued, reading, changed };
  struct Slot {
    CopySources* owner;
    std::atomic<State> state;
    std::atomic<bool> dropped;
    std::atomic<std::uint32_t> parts;  // host functions that have yet to run
    std::atomic<bool> compared;        // the issuing thread compares, or the fields after this one are being read
    std::size_t effort;
    std::uint32_t unchanged, changed;
    OtherThreads others;  // since the source was unchanged
    bool others_ran;
    std::uint64_t number;
    Issuer issuer;
    Place place;          // this and the next two are only for the sampled form
    std::uint64_t since;  // see HostReach
    Sampled sources[kMostSampled];
    std::size_t count;
    Change change;
    SourceSnapshot snapshot;
  };
  struct Site {
    std::atomic<std::uint16_t> copies;  // see due()
    std::atomic<std::uint16_t> held;    // ms; in the sampled form, 1 if a change was reported
  };
  static constexpr std::size_t kSites = 1u << 16;
  struct Memory {
    Slot slots[kSlots];
    Site sites[kSites];
  };

  static void CUDA_CB reached(void* slot);
  static void CUDA_CB reached_end(void* slot);
  Memory* map_memory();
  bool due(std::uint32_t site);
  Slot* take_slot();
  bool queue(Slot& slot, CUstream stream, CUhostFn function);
  DriverThreads driver_threads() const;
  bool excepted_rightly(const DriverThreads& except) const;
  std::atomic<std::uint32_t>& comparer(const Slot& slot) { return comparers_[&slot - memory_->slots]; }
  void compare_now(Slot& slot, Issuer call, At at);
  bool settle(Slot& slot);
  void release(Slot& slot, State next = State::free);
  void compare_sampled(Slot& slot, Issuer call, At at, bool issues);
  void end_comparisons(Slot& slot);
  void look(Slot& slot);
  void look_at_end(Slot& slot);
  void finish_part(Slot& slot);
  bool compare(Slot& slot, SourceSnapshot::Difference& difference);
  bool hold(Slot& slot);
  bool may_hold(const Slot& slot) const;
  void wake();

  std::atomic<bool> on_ = false, may_hold_ = false;
  std::atomic<std::uint32_t> waiting_ = 0;  // program calls in progress that may wait for the GPU
  std::atomic<std::uint32_t> holding_ = 0;
  std::atomic<std::uint32_t> releases_ = 0;  // a futex, incremented to release all held streams
  std::atomic<std::uint32_t> changes_ = 0;
  std::atomic<std::uint64_t> numbers_ = 0, held_ = 0;
  std::array<std::atomic<std::uint32_t>, kSlots>
      comparers_{};  // 1 + the thread that compares the slot's sources; 0: none
  std::array<std::atomic<std::uint32_t>, kSlots> watched_streams_{};  // 1 + the copy's; only in the sampled form
  const DriverApi* driver_ = nullptr;
  std::atomic<bool> searched_ = false;
  std::array<std::atomic<std::uint32_t>, 2> driver_threads_{};  // see DriverThreads
  Memory* memory_ = nullptr;
  PinnedRanges pinned_;
  std::uint32_t every_ = 0;  // 0: not the sampled form
  Progress progress_;
  HostReach reach_;
};

}  // namespace cudadiag::record
