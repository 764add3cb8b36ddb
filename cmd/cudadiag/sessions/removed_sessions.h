// Says which old sessions were removed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cudadiag::command {

// `removed` has the names that session::retain() returned for the folder `root`. Prints nothing if it is empty.
void print_removed(const std::vector<std::string>& removed, const std::filesystem::path& root);

}  // namespace cudadiag::command
