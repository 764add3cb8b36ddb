// How a location is written in text: "train.py:41, forward", paths in a directory are relative to it.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/facts/location.h"

namespace cudadiag::diagnose {

// The part of an absolute path below the directory. Empty: it is not below it, or the directory is / or not known.
std::string_view path_inside(std::string_view file, std::string_view directory);

std::string relative_path(const std::string& file, const std::string& directory);

// A demangled name up to its parameters: "(anonymous namespace)::work" of "(anonymous namespace)::work(int) const".
std::string_view without_parameters(std::string_view function);

// Unknown parts are left out; if nothing is known, the text says so.
std::string place(const Location& location, const std::string& directory);

}  // namespace cudadiag::diagnose
