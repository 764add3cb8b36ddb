// Who else can replace the folder of a session while it is written.
//
// A session's folder has mode 0700, but a user who may rename entries of its parent can put another folder, with links
// in it, in its place. The launcher's own files do not follow it there (session_writer.h); files that other programs
// make by name do. Whoever can do that:
//   the owner of the parent, unless that is root or we ourselves;
//   everybody, where the parent is writable by all and has no sticky bit.
// Members of a group are not among them: whoever makes a folder writable for a group trusts it, and many systems give
// each user a group of one.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::session {

// A sentence for the user, with the remedy; empty: nobody else can. `root`: a descriptor.
std::string exposure_of(int root, const std::filesystem::path& folder);

}  // namespace cudadiag::session
