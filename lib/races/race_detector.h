// Finds the races in one process's records as they arrive. Computes the order of operations and their accesses to
// memory. The program can write to the records, so they are not trusted.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "races/access.h"
#include "races/access_history.h"
#include "races/happens_before.h"
#include "races/host_writes.h"
#include "races/known_memory.h"
#include "races/launches.h"
#include "sass/kernel_accesses.h"
#include "session/found_races.h"
#include "session/ring_follower.h"

namespace cudadiag::races {

// The form of an access that the session stores (session/found_races.h).
session::RaceAccess stored_access(const Access& access, const Order& order);

// The memory accesses of an executable graph's nodes, as recorded when the graph was created.
struct Graph {
  // In each access, `node` is 1 + the index of its node. `parameter` and `function` are those of the node's kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // indexed by node
  std::vector<bool> roots;                             // indexed by node: true if the node waits for no other node
  std::vector<std::uint64_t> waited, recorded;         // the events that nodes of the graph wait for and record
  std::uint64_t order = 0;                             // wire::race::GraphOrder
  std::vector<bool> in_child;  // indexed by node: true if it is in a child graph, and so ordered like the node that
                               // contains the child graph
  bool looked_into = false;
  // Accesses to pinned memory that was freed after the latest launch, and the sites of the calls that freed it.
  std::vector<std::pair<Access, std::uint32_t>> freed;
  std::size_t parts = 0;  // number of nodes, edges and accesses that were reported
};

class Detector : public session::RingReader {
 public:
  // Returns how a kernel uses the memory that one parameter points to, given what is known about the launch. Returns
  // nullopt if this is not known yet; call again later.
  using KernelMode = std::function<std::optional<Mode>(std::uint32_t function, std::uint32_t parameter,
                                                       const sass::LaunchWords& launch)>;

  // `area` must stay mapped for the life of this object.
  Detector(
      std::span<const std::byte> area, KernelMode kernel_mode, CodeOf code_of = [](std::uint32_t) { return Codes(); });

  void record(const std::byte* record) override { this->record(record, {}); }
  // `parameters` are the bytes of the launch's parameters; may be incomplete.
  void record(const std::byte* record, std::string_view parameters);
  void lost(std::uint64_t count, std::uint64_t until) override;
  // Checks undecided pairs of accesses again, because the kernels' use of memory may be known now.
  void settle(bool at_last);
  bool settled() const { return history_.settled(); }

  std::vector<session::Race> races() const;
  std::vector<session::Race> unjudged() const;
  // Kernels that use bytes outside the memory that a parameter points to. One entry for each call site, kernel and
  // parameter.
  const std::vector<session::Overrun>& overruns() const { return overruns_; }
  // Replays of graphs with memory that had ended. One entry for each call site and way in which the memory ended.
  const std::vector<session::EndedMemory>& ended() const { return ended_; }
  // Races between threads of one launch. Complete after settle(true).
  const std::vector<session::KernelRace>& kernel_races() const { return kernel_races_.found(); }
  session::RaceCounts counts() const;
  bool found_any() const { return !history_.races().empty() || !host_writes_.found().empty() || !ended_.empty(); }

 private:
  // The stream that an entry of the area's stream table describes. Entries are reused for new streams.
  struct StreamEntry {
    std::uint64_t created = 0;
    StreamNumber number = 0;
    bool has_stream = false;
    bool sure = false;  // no record of a newer stream in this entry can have been lost
  };
  struct Word {
    std::uint64_t value;
    std::uint32_t offset, function;
  };
  struct Rows {
    std::uint64_t width = 0, destination_pitch = 0, source_pitch = 0;
    std::uint32_t rows = 1;
  };
  struct Part {
    std::uint64_t destination, source, bytes;
    Rows rows;
    When when = When::in_stream;  // when the source is read
    std::vector<KnownImages::Side> sides{};
  };
  // Facts from the records that precede an operation's own record in its ring.
  struct Pending {
    std::vector<Word> words;
    std::uint32_t function = 0;  // the kernel's function; 0 if unknown
    std::vector<KnownImages::Side> sides;
    struct TensorMap {
      std::uint32_t offset;
      std::uint64_t hash;
    };
    std::vector<TensorMap> tensor_maps;
    sass::ZeroWords zeros = 0;
    Rows rows;
    std::vector<Part> parts;    // parts of a batch of copies
    std::uint64_t watched = 0;  // number of the watched source of a copy; 0 if none
    std::vector<session::EndedMemory>
        ended;  // memory of the graph's nodes; only these fields are set: node, what, mode,
                // begin and site of the access, and how the memory ended

    void forget_operation();
  };

  // Handles a record that names no stream, such as one that precedes an operation's own record. Returns false for other
  // records.
  bool take_without_stream(const std::byte* record, Pending& pending);
  // Handles a record of what the host did or saw, or of memory. Returns false for an operation of the stream.
  bool take_outside_stream(const std::byte* record, bool has_stream, StreamNumber stream);
  bool is_seen(const std::byte* record) const;
  static void note_rows(const std::byte* record, Pending& pending);
  static void note_parameters(const std::byte* record, Pending& pending);
  void note_part(const std::byte* record, Pending& pending);
  static void note_side(const std::byte* record, Pending& pending);
  static void note_tensor_maps(const std::byte* record, Pending& pending);
  std::vector<sass::TensorMap> tensors_of(const Pending& pending) const;
  struct Issued {
    const std::byte* record;
    std::string_view parameters;
    StreamNumber stream;
  };
  void operation(const Issued& issued, Pending& pending);
  void kernel(const Issued& issued, const Pending& pending);
  // Adds the known bytes that a kernel uses through one parameter word. Returns whether all bytes used through the word
  // are known.
  bool add_bytes(const Access& access, const std::vector<sass::ParameterBytes>& bytes);
  void add_rows(const Access& access, const sass::ParameterBytes& use);
  // A use of a texture or surface by a launch.
  struct UsedImage {
    sass::HandleUse use;
    KnownImages::Image image;
  };
  void note_image(const std::byte* record);
  std::vector<UsedImage> used_images(const Issued& issued, std::uint32_t function);
  void add_image(Access access, const UsedImage& used, const std::vector<sass::ParameterBytes>& bytes);
  void place_in_arrays(const Access& copy, const Part& part);
  // `pointer` is the address that the kernel received.
  void note_overrun(const Access& access, std::uint64_t pointer);
  void copy(const std::byte* record, StreamNumber stream, const Pending& pending);
  void place(Access access, const Part& part, StreamNumber stream);
  bool is_of_host(std::uint64_t address) const;
  void watch_sources(const Access& copy, const std::vector<Part>& parts, std::uint64_t number);
  void add_source(const Access& source, HostWrites::Watched& watched);
  void source_changed(const std::byte* record);
  void graph(const std::byte* record, StreamNumber stream, const Pending& pending);
  static void note_ended(const std::byte* record, Pending& pending);
  void add_ended(Graph& graph, const Access& launch, const Pending& pending);
  void add_ended(session::EndedMemory ended);
  void watch_graph(const Graph& graph, Access launch, std::uint64_t number);
  void watch_kernel(const Access& launch, const Pending& pending, const std::vector<sass::ParameterBytes>& bytes);
  void graph_accesses(Graph& graph, const std::byte* record, Moment at, StreamNumber stream);
  void graph_part(const std::byte* record, const Pending& pending);
  void graph_gone(std::uint64_t exec);
  void graph_made(const std::byte* record, std::uint64_t exec);
  void graph_edges(const std::byte* record, Graph& graph);
  void graph_node(const std::byte* record, Graph& graph, const Pending& pending);
  void count_graph_parts(Graph& graph, std::size_t count);
  void forget_graphs();
  void inside_graph(const Graph& graph, Moment at, StreamNumber stream);
  void memory_made(const std::byte* record, bool has_stream, StreamNumber stream);
  void memory_freed(const std::byte* record, bool has_stream, StreamNumber stream);
  std::uint32_t launch_words(const Pending& pending);
  void add(Access access);
  // Returns an access by an operation of the stream, with what its record says about the call.
  static Access by_call(const std::byte* record, Moment at, StreamNumber stream);
  void add_allocation_or_free(const std::byte* record, StreamNumber stream, What what, const Memory& memory);
  static Access in_rows(Access access, const sass::ByteRows& rows, Mode mode);
  void forget_all();
  void begin_life(StreamEntry& known, std::uint64_t created, const StreamTraits& traits);
  void stream_made(const std::byte* record);
  bool find_stream(std::uint32_t index, std::uint64_t ticks, StreamNumber& stream);
  // Returns whether a copy between these addresses synchronises with all work on two devices.
  bool joins_devices(StreamNumber stream, std::uint64_t source, std::uint64_t destination) const;
  bool may_end(const Word& word, const Pending& pending) const;
  void look_inside(const Issued& issued, const Pending& pending, const Access& access);
  void note_homes();
  bool is_covered(std::uint64_t begin, std::uint64_t end) const;

  std::span<const std::byte> streams_;
  KnownMemory memory_;
  KnownImages images_;
  Order order_;
  History history_;
  HostWrites host_writes_{order_};
  std::vector<sass::LaunchWords> launches_{1};                       // indexed by Access::words
  std::unordered_map<std::uint64_t, std::uint32_t> launch_numbers_;  // keyed by hash
  sass::LaunchWords launch_;                                         // scratch memory of launch_words()
  std::vector<StreamEntry> known_;
  std::vector<Pending> pending_;  // indexed by thread
  LaunchBytes launch_bytes_;
  KernelRaces kernel_races_;
  std::vector<session::Overrun> overruns_;
  std::vector<session::EndedMemory> ended_;
  std::vector<Memory> homes_;                        // the memory of each race at the time at which the race was found
  std::vector<Memory> host_homes_;                   // the memory of each write of the host
  std::unordered_map<std::uint64_t, Graph> graphs_;  // keyed by CUgraphExec
  std::size_t graph_parts_ = 0;                      // nodes, edges and accesses of all graphs together
  std::uint64_t gap_until_ = 0;                      // if not 0: records were lost, and nothing can be concluded before
                                                     // these ticks
  std::uint64_t lost_ = 0, gaps_ = 0, operations_ = 0;
};

// ---- the backlog

// Holds back a process's records while the code of a kernel that they mention is being read. The code shows which
// memory the kernel uses, and is needed to check the launch. Records stay in order.
//
// At most kMost records are held back, each for at most kPatience. Records beyond these limits are passed on without
// the kernel's code.
class Backlog : public session::RingReader {
 public:
  // Returns whether the kernel's code has been read, or will never be read. Requests the code if it was not requested
  // before.
  using IsRead = std::function<bool(std::uint32_t function)>;

  // `area` and `detector` must outlive this object.
  Backlog(std::span<const std::byte> area, Detector& detector, IsRead is_read);

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
  Detector& detector_;
  IsRead is_read_;
  std::deque<Held> held_;
  std::uint64_t drops_ = 0, newest_ = 0;
};

}  // namespace cudadiag::races
