// Finds where the ranks of a job diverge, from the collectives that they launched, or from NCCL's communicators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

// Recognises the kernel by its name, mangled or not.
bool is_collective(std::string_view kernel);
bool launches_collective(const session::ProcessRecord& record, const session::Operation& operation);
bool calls_collectives(const session::Process& process);

// The collectives that one process launched, recognised by their kernels. Holds no reference to its process, and is
// small enough that a thousand of them fit in memory.
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

// Seconds in a collective that count as a long wait. Libraries wait for minutes before they give up. If a program ends
// while it is working, its unfinished collectives are younger than this.
inline constexpr double kLongForACollective = 10;

// One rank at the collective in question.
struct RankCall {
  std::size_t process = 0;  // index among the processes that were compared
  std::optional<int> rank;
  std::uint32_t pid = 0;
  std::string host;
  std::optional<double> ended;            // when it was last known to run, in seconds since the epoch
  std::uint64_t issued = 0;               // how many collectives it called in the whole run
  std::optional<std::size_t> collective;  // index in ProcessRecord::operations; nullopt if the rank has not reached it
  double waited = 0;                      // see CollectiveSequence::Call
};

struct Ranks {
  // How the ranks' calls differ. A different number of blocks means that the ranks pass data of different sizes.
  enum class Difference { none, line, kernel, blocks };

  std::uint64_t number = 0;  // of the collective, from 1
  std::uint64_t first = 1;   // the first collective that was compared; those before `number` do not differ
  Difference difference = Difference::none;
  std::vector<RankCall> calls;  // sorted by rank, then those without a rank number by pid

  // If a rank skips a collective, the next collective on the same line may be mistaken for it. The ranks then seem to
  // diverge much later. The number of kernels reveals the skip: between two collectives, that rank launches the kernels
  // of two iterations.
  struct Uneven {
    std::uint64_t number = 0;  // the collective that follows these kernels
    std::optional<int> rank;
    std::uint32_t pid = 0;
    std::uint64_t kernels = 0, of_others = 0;
  };
  // The only recorded collective before which one rank launched more kernels than the others; nullopt if there are
  // several. Before each of the two preceding collectives, all ranks must have launched the same number of kernels.
  std::optional<Uneven> uneven;

  bool all_have_come() const;
  // Returns whether a thread that called the collective had issued nothing for a long time when the recording ended.
  bool waited_for_long() const;
  // Returns true if the ranks do not diverge: all have called the same number of collectives, in the same way.
  bool agree() const { return difference == Difference::none && all_have_come(); }
};

// Finds the first collective that some ranks of a job have not reached, or that they call differently. Kernels of NCCL
// and similar libraries finish only once every rank has reached the same collective. Ranks that run the same program
// issue collectives in the same order.
//
// Compares the processes that have a rank or called a collective. Returns nullopt if the answer is uncertain, because
// - fewer than two processes are compared, two claim the same rank, or they did not all run at the same time;
// - something was not recorded, or the recording does not reach back to where the ranks diverge;
// - collectives run in graphs, or some kernels involve only two ranks, as in a pipeline;
// - ranks continued long after they diverged, perhaps intentionally, or the order of their threads varies;
// - a rank that has not reached the collective waits in another collective, or no rank waits in this collective;
// - the ranks have made the same calls, but not all of them are blocked in the last one.
std::optional<Ranks> parted_ranks(const std::vector<CollectiveSequence>& processes);

// Returns parted_ranks() for the report. If the job does not hang in a collective, returns nullopt unless the ranks
// diverge and some process has waited for a long time.
std::optional<Ranks> ranks_to_tell(const std::vector<CollectiveSequence>& processes, bool hangs);

// The state of one rank of a job, according to NCCL's communicators. It holds no reference to its process, and is small
// enough that a thousand of them fit in memory.
struct RankState {
  // A call, and the place where the program made it.
  struct Call : session::Collective {
    wire::site_key::Key line = 0;  // of the program's innermost own frame; 0 if unknown
    double made = 0;               // seconds since the epoch
  };

  // A flag in Call::flags, in addition to those of the wire format: earlier work on the call's stream is unfinished.
  static constexpr std::uint8_t kQueued = 0x80;
  // A flag in Call::flags: the size applies only to this rank, and may differ between ranks.
  static constexpr std::uint8_t kOwnSize = 0x40;

  std::optional<int> rank;  // in the job
  std::uint32_t pid = 0;
  std::vector<session::Communicator> communicators;
  std::vector<Call> calls;  // the latest ones, sorted by number
  // For each stream, the calls whose work may be unfinished, as indices into `calls`, oldest first. Includes calls
  // whose kernel was never launched.
  std::vector<std::vector<std::size_t>> unfinished;
  bool is_whole = true;  // no communicator and no message is missing
  double waited = 0;     // seconds since the thread that made the latest call last issued an operation
  // The state comes from a PyTorch Flight Recorder dump, not from a recording. In that case, Collective::site is 1 +
  // the index in `stacks`, and Collective::of_function is 0.
  bool is_dumped = false;
  std::vector<std::vector<session::DeliveredFrame>> stacks;
};

bool launches_nccl(const session::ProcessRecord& record, const session::Operation& operation);

inline constexpr std::size_t kAllCalls = static_cast<std::size_t>(-1);

// Returns nullopt if NCCL reported no communicator. `most`: how many of the latest calls to keep.
std::optional<RankState> rank_state(const session::Process& process, std::size_t most);

// Explains why a job hangs, according to NCCL's communicators. Finds a call that some ranks have not reached or in
// which they differ, or a circle of ranks that wait for each other.
struct GroupAnswer {
  enum class Kind {
    absence,   // some ranks have not reached the call
    mismatch,  // the ranks call it differently
    circle,    // each rank waits for the next one in `circle`
    present,   // all ranks have made the same call, but it does not finish
  };
  // `line`: the ranks make this call from different lines, but made all earlier recorded collectives from the same
  // lines.
  enum class Difference { none, function, count, type, root, line };

  // A rank at the call in question.
  struct Rank {
    std::size_t state = 0;            // index into the compared states
    std::int32_t rank = 0;            // in the group
    std::optional<std::size_t> call;  // index in RankState::calls; nullopt if it made no call, or the record is lost
    bool has_come = false;
    std::optional<std::size_t> waits_in;  // for a rank that has not reached the call: the call in which it waits
  };

  struct Wait {
    std::size_t state = 0, call = 0;
    std::size_t for_state = 0;
  };

  Kind kind = Kind::present;
  Difference difference = Difference::none;
  session::Communicator group;       // as one of its ranks recorded it
  RankState::Call call;              // as the earliest rank made it
  std::vector<Rank> ranks;           // the ranks of the group, or the two ends of a message; sorted by rank
  std::vector<std::int32_t> unseen;  // ranks of the group without a recording
  std::vector<Wait> circle;
};

// Returns nullopt if nothing explains a hang, or if communicators are missing. `hangs`: the job is known to hang. If
// false, returns nullopt unless some rank has waited for a long time.
std::optional<GroupAnswer> group_answer(std::span<const RankState> ranks, bool hangs);

}  // namespace cudadiag::analyse
