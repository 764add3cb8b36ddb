// Recognises and removes cudadiag's own files in a session's folder, and decides which old sessions are removed. A
// user's folder may happen to have the name of a session. The files to remove are therefore recognised by their names
// and contents.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "wire/area.h"

namespace cudadiag::session {

// The subfolder of a pass folder for the Python code of a run of `cudadiag nans`.
inline constexpr const char* kPythonFolder = "python";

// A run has at most this many areas. A forged session may contain more, and each area costs memory and time.
inline constexpr std::size_t kMostAreas = wire::arena::kAreaCount + wire::arena::kFilesBeside;

// Finds areas by their names, without opening the files. Returns nothing if `folder` is a link.
std::vector<std::filesystem::path> areas_in(const std::filesystem::path& folder);

// Returns whether the folder contains a manifest with our schema, in any version, or an area with our magic number.
// Also returns true if the folder contains the mark of a process that could not be recorded.
bool has_own_content(const std::filesystem::path& folder);

// Returns whether the folder is as `cudadiag env` prepares it: it contains only an empty folder for the recording.
bool is_only_prepared(const std::filesystem::path& folder);

// Removes the files that cudadiag writes to a session, and the folders that are empty afterwards. Files with other
// names and the folders that contain them stay. Follows no link. Returns false if anything is left.
bool remove_session(int root, const char* name);
bool remove_session(const std::filesystem::path& folder);

// Removes the saved launches of the passes whose folders contain kPassingLaunchFile. They were saved only for the
// reruns, and stay if cudadiag is killed. The caller must hold the session's lock.
void drop_passing_launches(const base::FileDescriptor& session);
// Does the same, unless another process is writing the session or it cannot be opened. Then, returns false.
bool drop_left_launches(const std::filesystem::path& session);

// The limits for old sessions when a new one is finished.
struct Retention {
  std::size_t sessions = 20;
  std::uintmax_t bytes = 2'000'000'000;
};

// Marks a session so that retain() neither removes nor counts it. Returns false with errno set if that failed.
bool keep(const std::filesystem::path& session);
// Removes that mark. Returns false with errno set if that failed.
bool unkeep(const std::filesystem::path& session);
bool is_kept(const std::filesystem::path& session);

// Removes the oldest sessions until the limits of `keep` are met, and returns the names of the removed sessions. Never
// removes `newest`, a session of another user, a session that is being written, or one that keep() has marked. Files
// that cudadiag did not write stay, even in a removed session. Also removes session folders that `cudadiag env`
// prepared more than a day ago and that no program has used. If a program uses one later, the recorder creates the
// folder again.
std::vector<std::string> retain(const std::filesystem::path& root, const std::filesystem::path& newest,
                                const Retention& keep);

}  // namespace cudadiag::session
