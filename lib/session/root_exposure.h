// Who else can replace the folder of a session while it is being written.
//
// A session's folder has mode 0700, but a user who may rename entries of its parent can put another folder, containing
// links, in its place. The launcher's own files do not follow it there (session_writer.h), but files that other
// programs make by name do. These users can do that:
//   the owner of the parent, unless that is root or ourselves;
//   everybody, if the parent is writable by all and has no sticky bit.
// Members of a group do not count: whoever makes a folder writable for a group trusts it, and many systems give each
// user a separate group.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::session {

// Returns a sentence for the user with the remedy; empty if nobody else can. `root`: a descriptor.
std::string exposure_of(int root, const std::filesystem::path& folder);

}  // namespace cudadiag::session
