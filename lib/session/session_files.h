// Which files of a session's folder are cudadiag's own, and their removal. A folder of the user's can have the name of
// a session: what is removed is known by its content and by the names of the files.
#pragma once

#include <filesystem>
#include <vector>

namespace cudadiag::session {

// The code of a run of `cudadiag nans`, in the folder of its pass.
inline constexpr const char* kPythonFolder = "python";

// Areas of processes, by name; no file is opened. Empty if `folder` is a link.
std::vector<std::filesystem::path> areas_in(const std::filesystem::path& folder);

// The folder holds a manifest with our schema, of any version, an area with our magic number, or the mark of a process
// that could not be recorded.
bool has_own_content(const std::filesystem::path& folder);

// The folder holds nothing but an empty folder for the recording: what `cudadiag env` prepares.
bool is_only_prepared(const std::filesystem::path& folder);

// Removes the files that cudadiag writes to a session, and the folders that are empty then. A file with another name
// stays, with the folders it lies in. Follows no link. False: something is left.
// `root`: descriptor of the folder that holds the session.
bool remove_session(int root, const char* name);
bool remove_session(const std::filesystem::path& folder);

}  // namespace cudadiag::session
