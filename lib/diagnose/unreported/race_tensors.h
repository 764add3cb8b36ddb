// The tensors that race: their names, the bytes that they share, and the races that a run found by following operators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/site_keys.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

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

}  // namespace cudadiag::diagnose
