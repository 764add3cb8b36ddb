// Where sessions live and what they are called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/session.h"

namespace cudadiag::session {

struct Root {
  std::filesystem::path folder;
  bool asked_for = false;    // the user named it with -o: nothing in it is ever deleted
  std::string warning;       // empty, or why this place is second best
  bool by_variable = false;  // $CUDADIAG_DIR names it
};

// The folder that sessions are created in and found in: `output` (-o), $CUDADIAG_DIR, $XDG_STATE_HOME/cudadiag,
// ~/.local/state/cudadiag, and at last a private folder under the temporary directory.
std::vector<Root> roots(const std::optional<std::filesystem::path>& output);

// Those of them in which sessions are looked up. If CUDADIAG_DIR names a usable folder, only that one: users separate
// the sessions of several jobs by it.
std::vector<Root> roots_to_read(const std::optional<std::filesystem::path>& output);

inline constexpr const char* kIncomplete = ".incomplete";
inline constexpr const char* kLatest = "latest";
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kRaces = "races.json";
inline constexpr const char* kSummary = "summary.json";  // what `cudadiag list` shows of it
inline constexpr const char* kKept = "kept";             // empty: it is never removed automatically
inline constexpr const char* kRecordFolder = "record";
inline constexpr const char* kOutputFile = "output.txt";      // of a rerun, in its folder
inline constexpr const char* kDebuggerFile = "cuda-gdb.txt";  // likewise: what the debugger printed of its dump
inline constexpr const char* kCodeFile = "failing-code.txt";  // likewise: nvdisasm's text of the kernel that failed
inline constexpr const char* kSanitizerFile = "compute-sanitizer.txt";

// "20261121-101500-4711" or the same with ".incomplete".
bool is_session_name(const std::string& name);

// It has the contents of a session, whatever its name and owner.
bool holds_recording(const std::filesystem::path& folder);

// A session of this user, by its name and by what it holds, and not a link to something else.
bool is_session(const std::filesystem::path& folder);

// For what `cudadiag env` prints, or a run that has not failed yet: nothing was recorded to it so far.
bool is_blank(const std::filesystem::path& folder);

// A greater age is newer: names tell seconds apart, the time of the folder those of one second.
std::pair<std::string, std::filesystem::file_time_type> age_of(const std::filesystem::path& session);

// Sessions in a root, or in all of them, newest first.
std::vector<std::filesystem::path> sessions_in(const std::filesystem::path& root);
std::vector<std::filesystem::path> sessions_in(const std::vector<Root>& roots);

// Also folders of other users, even unreadable ones, and folders with other names; sorted by name.
std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder);

// Why no session can be created here; whether the folder is there already or not. Nothing: one can.
std::optional<base::Error> obstacle_in(const Root& root);

// A writer holds a lock on its folder for as long as it lives.
bool is_being_written(const std::filesystem::path& folder);

// The name of a finished session, or the one that it will have.
std::filesystem::path finished_name(const std::filesystem::path& folder);
// The present folder of a session with this finished name: it has the name of an unfinished one while its run is in
// progress.
std::filesystem::path present_folder(const std::filesystem::path& folder);
// Its run is in progress, and a launcher writes it.
bool run_goes_on(const std::filesystem::path& folder);

// For a blank session without a launcher.
inline constexpr const char* kNothingYet =
    "nothing was recorded yet with what cudadiag env printed: no program has initialised CUDA with it, or its "
    "recording could not be written here";

}  // namespace cudadiag::session
