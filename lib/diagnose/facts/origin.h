// Where an argument's bad value came from, according to a rerun that traced it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/argument.h"
#include "diagnose/facts/location.h"
#include "session/notes/deliveries.h"

namespace cudadiag::diagnose {

// A line that the value passed through on its way to the failing operator.
struct OriginStep {
  session::DeliveredOrigin::Role role = session::DeliveredOrigin::Role::made;
  std::string op;                                 // "aten::remainder.Scalar", "DataLoader"
  std::optional<Number> value{};                  // nullopt if the value was different at this line, or is unknown
  std::optional<std::int64_t> batch{}, sample{};  // index of the batch, and of the sample in the data set
  Location location{};
};

struct Origin {
  std::vector<OriginStep> steps;    // the origin first, then the lines that passed the value on; never empty
  std::vector<std::int64_t> index;  // index of the bad element in the argument
  analyse::Fact known_by = analyse::Fact::matched;  // measured if the rerun saw the value appear or enter the program
};

}  // namespace cudadiag::diagnose
