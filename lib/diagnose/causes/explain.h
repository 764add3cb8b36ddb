// Explains why an operation failed, in terms of the program and its framework. Tries the rules of a table in order and
// takes the first match. A wrong cause is worse than none, so if no rule matches, the finding has no cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/causes/case.h"

namespace cudadiag::causes {

// `proof` has indices in Finding::arguments.
struct Explanation : diagnose::Cause {
  std::vector<std::string> fix;
};

std::optional<Explanation> explain(const Case& failed);

// Returns the id of every rule, each once, in the order of the table.
std::vector<std::string_view> cause_ids();

}  // namespace cudadiag::causes
