// Why an operation failed, according to a rule.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cudadiag::diagnose {

struct Cause {
  std::string id;    // "index-out-of-range"
  std::string text;  // one or two sentences, with the values filled in
  std::vector<std::pair<std::string, std::string>> facts;
  std::string link;                // address of the documentation
  bool certain = false;            // if false, the text says "often" or "probably"
  std::vector<std::size_t> proof;  // indices in Finding::arguments
};

}  // namespace cudadiag::diagnose
