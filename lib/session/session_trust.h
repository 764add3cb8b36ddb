// Finds out whether a session is the reader's own, and who could replace its folder.
//
// cudadiag reads the sources and scripts that a session names, and runs its command, with the reader's rights. A
// session of another user could name any file and any command.
//
// A session is the reader's own if its folder belongs to the effective user and it was recorded on this host. The check
// of the host is not reliable: the host's name comes from the session itself, and a container gets a new name at each
// start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "session/session.h"

namespace cudadiag::session {

// Returns a clause such as "its folder belongs to another user (uid 1001)".
std::string why_foreign(const Session& session);

// Returns the first folder of the absolute path, from the top, in which another user can replace the next part of the
// path, or in which another user can replace entries at its end. Also looks at the folders that contain the targets of
// links.
//
// A session's folder has mode 0700. A user who may rename entries of a folder above it can nevertheless put a different
// folder, with links in it, in its place. The launcher does not write to the new folder and removes nothing from it
// (session_writer.h), but programs that create files by path do. These users can replace an entry of a folder:
//   the owner of the folder, unless that is root or ourselves;
//   all users, if the folder is writable by all and has no sticky bit.
// Members of a group are not checked: a user who makes a folder writable for a group trusts the group. Many systems
// also give each user a separate group.
std::optional<std::filesystem::path> exposed_folder(const std::filesystem::path& path);

// Returns such a folder above the session, or above the folder that a link to the session leads to.
std::optional<std::filesystem::path> exposed_folder(const Session& session);

// Returns a sentence for the user, with a hint; empty if no other user can replace a session in `folder`.
std::string exposure_of(const std::filesystem::path& folder);

}  // namespace cudadiag::session
