// Finds the folders of sessions and parses their names: finished sessions, those of running launchers, and those to
// which nothing was recorded.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/saved_results.h"
#include "wire/area.h"
#include "wire/pass_files.h"

namespace cudadiag::session {

struct Root {
  std::filesystem::path folder;
  bool asked_for = false;    // the user chose it with -o, so nothing in it is ever deleted
  std::string warning;       // why this folder is only a fallback; empty if it is not
  bool by_variable = false;  // it comes from $CUDADIAG_DIR
};

// Returns the folders in which sessions are created and looked for: `output` (-o), $CUDADIAG_DIR,
// $XDG_STATE_HOME/cudadiag, ~/.local/state/cudadiag, and finally a private folder in the temporary directory.
std::vector<Root> roots(const std::optional<std::filesystem::path>& output);

// Returns the roots in which to look for sessions. If CUDADIAG_DIR is a usable folder, it is the only root, because
// users set it to separate the sessions of several jobs.
std::vector<Root> roots_to_read(const std::optional<std::filesystem::path>& output);

inline constexpr const char* kIncomplete = ".incomplete";
inline constexpr const char* kLatest = "latest";
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kRaces = "races.json";
inline constexpr const char* kSummary = "summary.json";  // what `cudadiag list` shows of the session
inline constexpr const char* kKept = "kept";             // an empty file: the session is never removed automatically

// Returns whether the name has the form "20261121-101500-4711", with or without ".incomplete".
bool is_session_name(const std::string& name);

// Returns whether the folder contains a session, whatever its name and owner.
bool holds_recording(const std::filesystem::path& folder);

// A run has at most this many areas. A forged session may contain more, and each area costs memory and time.
inline constexpr std::size_t kMostAreas = wire::arena::kAreaCount + wire::arena::kFilesBeside;

// Finds areas by their names, without opening the files. Returns nothing if `folder` is a link.
std::vector<std::filesystem::path> areas_in(const std::filesystem::path& folder);

// Returns whether cudadiag writes files with this name about a process: "4711.area", "4711-2.log" or
// "4711-3-28.unrecorded".
bool is_of_process(std::string_view name);

// Returns whether the folder contains a manifest with our schema, in any version, or an area with our magic number.
// Also returns true if the folder contains the mark of a process that could not be recorded.
bool has_own_content(const std::filesystem::path& folder);

// Returns whether the folder is as `cudadiag env` prepares it: it contains only an empty folder for the recording.
bool is_only_prepared(const std::filesystem::path& folder);

// Returns whether the folder belongs to this user, is not a link, and has the name and contents of a session.
bool is_session(const std::filesystem::path& folder);

// Returns whether nothing has been recorded in the folder so far. This is normal after `cudadiag env`, and for a run
// that has not failed yet.
bool is_blank(const std::filesystem::path& folder);

// How old a session is. A newer session compares as greater. The folder's modification time cannot be used, because
// `cudadiag keep` and reruns change it. A session without a launcher may have been recorded long after it was named.
// Then `second` is the time of the latest recording.
struct SessionAge {
  std::string second;         // "20261121-101500", in UTC
  std::uint32_t created = 0;  // nanoseconds after this second; 0 if unknown, as for a copy
  bool is_latest = false;     // the link `latest` points to it, so of its root's sessions, it was the last to finish
  std::uint64_t pid = 0;
  std::uint64_t attempt = 0;  // 2 or more if an earlier session has the same second and pid
  auto operator<=>(const SessionAge&) const = default;
};
SessionAge age_of(const std::filesystem::path& session);
// Returns a time as session names contain it: "20261121-101500", in UTC.
std::string second_text(std::time_t time);

// Returns the sessions in one root, or in all of them, newest first.
std::vector<std::filesystem::path> sessions_in(const std::filesystem::path& root);
std::vector<std::filesystem::path> sessions_in(const std::vector<Root>& roots);

// Returns the recordings in a folder, sorted by name. Includes renamed recordings and other users' recordings, even
// unreadable ones.
std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder);

// Returns why no session can be created in the root. The folder need not exist.
std::optional<base::Error> obstacle_in(const Root& root);

// Returns whether a SessionWriter holds the folder's lock.
bool is_being_written(const std::filesystem::path& folder);

// Returns the path that the session has, or will have, once it is finished.
std::filesystem::path finished_name(const std::filesystem::path& folder);
// Returns the current folder of a session. `folder` is the path that the session has once it is finished. While the run
// is in progress, the current name ends in ".incomplete".
std::filesystem::path present_folder(const std::filesystem::path& folder);
// Returns whether the run is in progress: the session is unfinished, and a launcher is writing it.
bool run_goes_on(const std::filesystem::path& folder);

// The message for a session that `cudadiag env` prepared and that has no recording yet.
inline constexpr const char* kNothingYet =
    "nothing has been recorded yet with the environment that cudadiag env printed: no program has initialised CUDA "
    "with it, or the recording could not be written here";

// Tells other processes where a running launcher keeps its recording. While the launcher runs, the session's folder
// contains these files next to the areas:
//
//   arena         one line: the launcher's pid, the number of its descriptor, the inode that the descriptor refers to
//   running.json  the manifest as far as it is known
inline constexpr const char* kArenaFile = "arena";
inline constexpr const char* kRunningFile = "running.json";

struct LivePlace {
  std::uint32_t pid = 0;
  int descriptor = -1;
  std::uint64_t inode = 0;
};

std::string write_live_place(const LivePlace& place);
std::optional<LivePlace> parse_live_place(std::string_view text);

// Returns the place of this session's recording.
std::optional<LivePlace> live_place(const std::filesystem::path& session);

// Returns whether the recording is lost, because the launcher was killed before it could store any part of it.
bool was_lost(const std::filesystem::path& session);

// Every recorded process maps its recording. Returns whether this process maps the recording at this place; false if
// its mappings cannot be read.
bool is_held_by(const LivePlace& place, std::uint32_t pid);
std::vector<std::uint32_t> holders_of(const LivePlace& place);

std::optional<std::filesystem::path> newest_live(const std::vector<Root>& roots);

std::optional<std::filesystem::path> newest_lost(const std::vector<Root>& roots);

// Processes that initialised CUDA but could not be recorded. Each of their recorders left a mark.
struct Unrecorded {
  std::size_t processes = 0;
  wire::unrecorded::What what = wire::unrecorded::What::nothing;  // reason for one of them
  int error = 0;                                                  // errno of the same process
};

// Counts the processes that left a mark in a pass folder.
Unrecorded unrecorded_in(const std::filesystem::path& pass_folder);

// Returns an error such as "nothing was recorded for …", with a hint.
base::Error nothing_recorded_of(const Unrecorded& unrecorded);

// Returns why no program can record to the session.
std::optional<std::string> obstacle_to_recording(const std::filesystem::path& session);

// Returns why a session that `cudadiag env` prepared is empty. Considers only the current state: the original reason
// may be gone.
std::string why_unused(const std::filesystem::path& session);

}  // namespace cudadiag::session
