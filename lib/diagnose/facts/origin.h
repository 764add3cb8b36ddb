// Where the bad value of an argument came from, as a rerun traced it.
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

// A line on the way of the value to the failing operator.
struct OriginStep {
  session::DeliveredOrigin::Role role = session::DeliveredOrigin::Role::made;
  std::string op;                                 // "aten::remainder.Scalar", "DataLoader"
  std::optional<Number> value{};                  // nothing: it was another one there, or that is not known
  std::optional<std::int64_t> batch{}, sample{};  // of a data loader
  Location location{};
};

struct Origin {
  std::vector<OriginStep> steps;                    // the origin first, then what carried the value; never empty
  std::vector<std::int64_t> index;                  // of the element in the argument
  analyse::Grade grade = analyse::Grade::inferred;  // proven: the value was seen as it was made, or came in
};

}  // namespace cudadiag::diagnose
