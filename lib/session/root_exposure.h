// Finds out which other users can replace the folder of a session while it is being written.
//
// A session's folder has mode 0700. A user who may rename entries of its parent can nevertheless put a different
// folder, with links in it, in its place. The launcher does not write to the new folder (session_writer.h), but
// programs that create files by path do. These users can replace the folder:
//   the owner of the parent, unless that is root or ourselves;
//   all users, if the parent is writable by all and has no sticky bit.
// Members of a group are not checked: a user who makes a folder writable for a group trusts the group. Many systems
// also give each user a separate group.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::session {

// Returns a sentence for the user, with a hint; empty if no other user can replace a session in `folder`. `root` is a
// descriptor of `folder`.
std::string exposure_of(int root, const std::filesystem::path& folder);

}  // namespace cudadiag::session
