// Passes strings to functions that take an array of C strings, such as execve().
#pragma once

#include <string>
#include <vector>

namespace cudadiag::base {

// Returns pointers to the strings, and a null pointer at the end. The pointers are valid as long as the strings.
inline std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace cudadiag::base
