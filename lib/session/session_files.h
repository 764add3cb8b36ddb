// Recognises and removes cudadiag's own files in a session's folder. A folder of the user may have the name of a
// session, so we recognise the files to remove by their contents and their names.
#pragma once

#include <filesystem>
#include <vector>

namespace cudadiag::session {

// In a pass folder: the Python code of a run of `cudadiag nans`.
inline constexpr const char* kPythonFolder = "python";

// Returns the files whose names are those of areas, without opening them. Empty if `folder` is a link.
std::vector<std::filesystem::path> areas_in(const std::filesystem::path& folder);

// Returns whether the folder contains a manifest with our schema, in any version, or an area with our magic number.
// Also returns true for the mark of a process that could not be recorded.
bool has_own_content(const std::filesystem::path& folder);

// Returns whether the folder contains only an empty folder for the recording, as `cudadiag env` prepares it.
bool is_only_prepared(const std::filesystem::path& folder);

// Removes the files that cudadiag writes to a session, and the folders that are then empty. Files with other names
// stay, with the folders that contain them. Follows no link. Returns false if something is left.
// `root`: descriptor of the folder that contains the session.
bool remove_session(int root, const char* name);
bool remove_session(const std::filesystem::path& folder);

}  // namespace cudadiag::session
