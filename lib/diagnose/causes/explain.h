// Explains why an operation failed, in terms of the program and its framework. Tries the rules of a table in order and
// takes the first match. A wrong cause is worse than none, so if no rule matches, the finding has no cause.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/causes/symptoms.h"

namespace cudadiag::causes {

struct Cause {
  std::string id;
  std::string text;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> fix;
  std::string link;
  bool certain = false;
  std::vector<std::size_t> proof;  // indices in Symptoms::arguments
};

std::optional<Cause> explain(const Symptoms& symptoms);

// Returns the id of every rule, each once, in the order of the table.
std::vector<std::string_view> cause_ids();

}  // namespace cudadiag::causes
