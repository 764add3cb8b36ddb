// Removes cudadiag's own files from a session's folder, and decides which old sessions are removed. A
// user's folder may happen to have the name of a session. The files to remove are therefore recognised by their names
// and contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"

namespace cudadiag::session {

// The subfolder of a pass folder for the Python code of a run of `cudadiag nans`.
inline constexpr const char* kPythonFolder = "python";

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
