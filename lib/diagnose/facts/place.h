// Writes a location as text: "train.py:41, forward". Paths inside a directory are shown relative to it.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/facts/location.h"

namespace cudadiag::diagnose {

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
