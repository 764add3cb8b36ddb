// Which operators and tensors race, from a rerun that looked for the same races and saw the operators of their lines
// (wire/rerun/delivery.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analyse/site_keys.h"
#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"

namespace cudadiag::diagnose {

// The known facts of one side. An empty operator: not one of PyTorch's; no tensor: memory of the operator's own.
struct NamedAccess {
  std::string op, schema;
  std::optional<RaceTensor> tensor;
  bool whole = false;  // every byte of the tensor's range is used
};

class RaceTensors {
 public:
  // `session` and `resolve` must outlive this.
  RaceTensors(const session::Session& session, const ResolveSite& resolve);

  // Whether there was such a rerun, and why it was ended before its time; empty: it was not.
  bool made() const { return races_ != nullptr; }
  const std::string& cut_short() const { return cut_short_; }

  // The same pair of sites and parameters there; each side empty if nothing is known of it. Nothing: the rerun did not
  // show it.
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

}  // namespace cudadiag::diagnose
