// Adds the findings that no failed call reported: races, wrong uses of memory, and values that are not finite.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/site_keys.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/hook_output.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_stack.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns a description of how many pairs of kernels could not be checked for a race, and why; empty if all were
// checked. `settled` is the number of pairs that a rerun has since checked.
std::string unjudged_text(const session::Races& races, std::uint64_t settled = 0);
// Says how many kernels were not checked for races between their own threads; empty if all were.
std::string unchecked_text(const session::Races& races);
// If one of these texts is not empty because no disassembler was found, says how to get one; otherwise returns "".
std::string disassembler_remedy(const session::Races& races);

// Adds findings for races between streams, one for each pair of lines.
void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Pieces of `width` bytes at begin + i0 * pitch0 + i1 * pitch1 + …, innermost dimension first. Dimensions without gaps
// are merged, so `width` may cover many elements.
struct StridedBytes {
  struct Dimension {
    std::uint64_t count = 1, pitch = 0;  // `pitch` is in bytes
  };
  std::uint64_t begin = 0, width = 0;
  std::vector<Dimension> dimensions;

  std::uint64_t end() const;  // returns one past the last byte
};

// Returns nullopt if the type, shape or strides are unknown, or if elements of the tensor overlap.
std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor);

// Returns nullopt if there are too many pieces to compare. If the tensors do not overlap, `bytes` is 0.
std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b);

// The known facts about one side of a race. `op` is empty if the side is not a PyTorch operator. `tensor` is nullopt if
// the memory belongs to the operator itself.
struct NamedAccess {
  std::string op, schema;
  std::optional<RaceTensor> tensor;
  bool whole = false;  // the operator uses every byte of the tensor's range
};

class RaceTensors {
 public:
  // `session` and `resolve` must outlive this object.
  RaceTensors(const session::Session& session, const ResolveSite& resolve);

  // made() returns true if a rerun searched for the races. cut_short() returns why the rerun was cut short, or an empty
  // string.
  bool made() const { return races_ != nullptr; }
  const std::string& cut_short() const { return cut_short_; }

  // Finds the race between the same sites and parameters in the rerun. A side about which nothing is known is empty.
  // Returns nullopt if the rerun did not show the race.
  struct Pair {
    NamedAccess first, second;
  };
  std::optional<Pair> find(const session::Race& race, const session::Process& process);

 private:
  struct Match {
    const session::Race* race = nullptr;
    const session::Process* process = nullptr;
    bool swapped = false;
  };
  Match match(const session::Race& race, const session::Process& process);
  bool same_side(const session::RaceAccess& a, const session::Process& of_a, const session::RaceAccess& b,
                 const session::Process& of_b);
  NamedAccess name(const session::RaceAccess& access, const session::Process& process, std::uint64_t first_begin);
  const analyse::SiteKeys& keys(const session::Process& process);

  const ResolveSite& resolve_;
  const session::Races* races_ = nullptr;
  const std::vector<session::Process>* processes_ = nullptr;
  std::string cut_short_;
  std::map<const session::Process*, analyse::SiteKeys> keys_;
};

// Adds findings for races between tensors, one for each pair of lines. The races come from a run that followed
// PyTorch's operators.
void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

// Adds one finding for each line that issues a copy whose source the host changed.
void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

// Adds the replays of graphs that use host memory which no longer exists.
void add_ended_memory(Diagnosis& report, const session::Session& session, const ResolveSite& resolve,
                      symbolize::Symbolizer& symbolizer);

// Adds the replays of graphs that use memory which PyTorch's allocator has given to another tensor since the capture.
// The Python hook finds them in a run with --graph-memory.
void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Adds races between threads of one launch.
void add_kernel_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);
// Adds findings for kernels that access bytes outside their allocations, even if nothing failed, one for each line and
// kernel.
void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve);

struct PlacedCall {
  std::uint32_t site = 0;
  Location location;  // its true line
  symbolize::SourceStack stack;
};
// Returns the only statement between two calls of a thread that can have written to memory which is not its own, as far
// as the text of the sources shows. Nullopt if there is none, or if there may be others. The thread made the call
// `before` next after the call `after`.
//
// A statement is named only if it writes through an index, a pointer or a known function. A statement that calls a
// function of the program may write, too. Statements that only call CUDA cannot, because the recorder would have seen
// their call.
std::optional<Location> writing_statement(const session::ProcessRecord& record, const PlacedCall& after,
                                          const PlacedCall& before);

// Adds the calls between which the host changed the memory, and the host's line if it follows from them. Returns what
// the finding's text says about them.
std::string add_host_line(Finding& finding, const session::Race& race, const session::Process& process,
                          const ResolveSite& resolve, const std::string& directory);

// Returns text such as "0 / 0 is NaN: element [3,0] of a result float32[8,1], 2 elements in all".
std::string made_of(std::string_view op, const session::DeliveredNonFinite& value,
                    const std::vector<Argument>& arguments);

// Adds at most one finding for each process, sorted by pid.
void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
