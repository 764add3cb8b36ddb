// Decides whether cudadiag may run code from a file that the user did not name. Only the user, root or the owner of the
// program that the user runs may have put the file there.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace cudadiag::launch {

// Returns true if the file and every folder above it belong to this process's effective user, to root or to `also`, and
// no other user can write to them. It accepts a folder that others can write to if it is sticky, as /tmp is: nobody can
// replace another user's entries there. Links are resolved first. Returns false if a part cannot be inspected.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
