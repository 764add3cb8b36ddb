// Opens and lists folders of a session without following links, because the folders may contain anything.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace cudadiag::session {

// Returns an invalid descriptor, with errno set, if the folder is missing, is a link or is not a folder. `parent` is a
// descriptor, or AT_FDCWD.
base::FileDescriptor open_plain_folder(int parent, const char* name);

// Returns the sorted names of the folder's entries, without "." and "..".
std::vector<std::string> names_in(const base::FileDescriptor& folder);

// Returns names_in() as paths; empty if `folder` is a link.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace cudadiag::session
