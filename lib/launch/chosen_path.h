// Decides whether cudadiag may run code from a file that the user did not choose. Only the user, root or the owner of
// the program that the user runs may have put the file there.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace cudadiag::launch {

// Returns true if no other user can write to the file and to the folders above it. All of them must belong to this
// process's effective user, to root or to `also`. A folder that other users can write to is accepted if it is sticky,
// like /tmp, because no user can replace another user's entries there. Symbolic links are resolved first. Returns false
// if any part of the path cannot be inspected.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
