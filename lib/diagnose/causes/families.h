// The table of causes, one file for each family. If rules of two families may match, the family that is more specific
// comes first.
#pragma once

#include <vector>

#include "diagnose/causes/rule.h"

namespace cudadiag::causes {

const std::vector<Rule>& known_bug_rules();
const std::vector<Rule>& access_rules();
const std::vector<Rule>& indexing_rules();
const std::vector<Rule>& numerics_rules();
const std::vector<Rule>& graph_rules();
const std::vector<Rule>& memory_rules();
const std::vector<Rule>& library_rules();
const std::vector<Rule>& allocation_rules();
const std::vector<Rule>& launch_rules();
const std::vector<Rule>& stream_rules();
const std::vector<Rule>& device_rules();
const std::vector<Rule>& hardware_rules();
const std::vector<Rule>& kernel_rules();
const std::vector<Rule>& hang_rules();  // for hangs only, which try no other family

}  // namespace cudadiag::causes
