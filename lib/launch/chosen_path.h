// Whether code may be taken from a file that the user did not name: nobody but the user, root or the owner of the
// program that the user runs may have put it there.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace cudadiag::launch {

// True if the file and every folder above it belong to this process's effective user, to root or to `also`, and no
// other user can write to them. A folder that others may write to is accepted if it is sticky, as /tmp is: nobody can
// replace what belongs to somebody else there. Links are resolved first. False if a part cannot be looked at.
bool only_trusted_can_write(const std::filesystem::path& file, uid_t also);

}  // namespace cudadiag::launch
