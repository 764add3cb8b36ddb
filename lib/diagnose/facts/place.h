// A location in the user's program, and its text: "train.py:41, forward". Paths inside a directory are shown relative
// to it.
#pragma once

#include <string>
#include <string_view>

#include "symbolize/source_stack.h"

namespace cudadiag::diagnose {

// A location in the user's program. Its `source` is the text of the line, if the report has read it.
using symbolize::Location;

// Returns true if both locations are on the same line or, if the lines are unknown, in the same function.
bool same_line(const Location& a, const Location& b);

inline bool is_known(const Location& location) { return !location.file.empty() || !location.function.empty(); }

// Returns the part of an absolute path below `directory`. Empty if the path is elsewhere, or if `directory` is "/" or
// empty.
std::string_view path_inside(std::string_view file, std::string_view directory);

std::string relative_path(const std::string& file, const std::string& directory);

// Returns the location with the name of its file instead of the path, for titles.
Location with_file_name(Location location);

// Drops the parameters of a demangled name: "(anonymous namespace)::work" for "(anonymous namespace)::work(int) const".
std::string_view without_parameters(std::string_view function);

// Writes the known parts of a location. If nothing is known, the text says so.
std::string place(const Location& location, const std::string& directory);

}  // namespace cudadiag::diagnose
