// Which files of a session's folder are cudadiag's own, and their removal. A folder of the user's may have the name of
// a session. Files to remove are therefore recognised by content and by their names.
#pragma once

#include <filesystem>
#include <vector>

namespace cudadiag::session {

// The code of a run of `cudadiag nans`, in the folder of its pass.
inline constexpr const char* kPythonFolder = "python";

// The areas of processes, by name only; no file is opened. Empty if `folder` is a link.
std::vector<std::filesystem::path> areas_in(const std::filesystem::path& folder);

// Returns whether the folder contains a manifest with our schema, of any version, or an area with our magic number. The
// mark of a process that could not be recorded counts too.
bool has_own_content(const std::filesystem::path& folder);

// Returns whether the folder contains only an empty folder for the recording, as `cudadiag env` prepares it.
bool is_only_prepared(const std::filesystem::path& folder);

// Removes the files that cudadiag writes to a session, and the folders that are then empty. Files with other names
// stay, with the folders that contain them. Follows no link. Returns false if something is left.
// `root`: descriptor of the folder that contains the session.
bool remove_session(int root, const char* name);
bool remove_session(const std::filesystem::path& folder);

}  // namespace cudadiag::session
