// Checks whether a file is trustworthy enough for cudadiag to run code from it.
// A file that the user did not choose must come from the user, root, or the owner of the program that the user runs.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace cudadiag::launch {

// Returns true if no untrusted user can write to the file or to any folder above it. Each of these must be owned by
// this process's effective user, root or `also`. A folder that others can write to is accepted only if it is sticky,
// like /tmp: nobody can replace another user's entries in it. Symbolic links are resolved first. Returns false if any
// part of the path cannot be inspected.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
