// Which other users can replace the folder of a session while it is being written.
//
// A session's folder has mode 0700. A user who may rename entries of its parent can nevertheless put a different
// folder, containing links, in its place. The launcher never writes to that folder (session_writer.h). Programs that
// create files by path then write to it. These users can replace the folder:
//   the owner of the parent, unless that is root or ourselves;
//   all users, if the parent is writable by all and has no sticky bit.
// Members of a group do not count: a user who makes a folder writable for a group trusts it. Many systems also give
// each user a separate group.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::session {

// Returns a sentence for the user, with a hint; empty if no other user can replace the folder. `root` is a descriptor.
std::string exposure_of(int root, const std::filesystem::path& folder);

}  // namespace cudadiag::session
