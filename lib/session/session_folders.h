// The folders of sessions and their names.
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
  bool asked_for = false;    // the user named it with -o, so nothing in it is ever deleted
  std::string warning;       // empty, or why this place is second best
  bool by_variable = false;  // $CUDADIAG_DIR names it
};

// The folders in which sessions are created and looked for: `output` (-o), $CUDADIAG_DIR, $XDG_STATE_HOME/cudadiag,
// ~/.local/state/cudadiag, and finally a private folder in the temporary directory.
std::vector<Root> roots(const std::optional<std::filesystem::path>& output);

// Those of them in which sessions are looked for. If CUDADIAG_DIR names a usable folder, only that one, because users
// separate the sessions of several jobs with it.
std::vector<Root> roots_to_read(const std::optional<std::filesystem::path>& output);

inline constexpr const char* kIncomplete = ".incomplete";
inline constexpr const char* kLatest = "latest";
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kRaces = "races.json";
inline constexpr const char* kSummary = "summary.json";  // what `cudadiag list` shows of the session
inline constexpr const char* kKept = "kept";             // empty; the session is never removed automatically
inline constexpr const char* kRecordFolder = "record";
inline constexpr const char* kModulesFolder = "modules";      // in a pass, while it runs: images of device code
inline constexpr const char* kOutputFile = "output.txt";      // of a rerun, in its folder
inline constexpr const char* kDebuggerFile = "cuda-gdb.txt";  // likewise: what the debugger printed about its dump
inline constexpr const char* kCodeFile = "failing-code.txt";  // likewise: nvdisasm's text of the failed kernel
inline constexpr const char* kKernelCodeFile = "kernel-code.json";  // of the record pass: notes/kernel_code.h
inline constexpr const char* kSanitizerFile = "compute-sanitizer.txt";

// "20261121-101500-4711" or the same with ".incomplete".
bool is_session_name(const std::string& name);

// Returns whether it contains a session, whatever its name and owner.
bool holds_recording(const std::filesystem::path& folder);

// Returns whether it is a session of this user, by name and contents, and not a link.
bool is_session(const std::filesystem::path& folder);

// Returns whether nothing was recorded to it so far, as for `cudadiag env`, or a run that has not failed yet.
bool is_blank(const std::filesystem::path& folder);

// A greater age is newer: names distinguish seconds, and the folder's time distinguishes sessions of one second.
std::pair<std::string, std::filesystem::file_time_type> age_of(const std::filesystem::path& session);

// The sessions in one root, or in all of them, newest first.
std::vector<std::filesystem::path> sessions_in(const std::filesystem::path& root);
std::vector<std::filesystem::path> sessions_in(const std::vector<Root>& roots);

// Includes folders of other users, even unreadable ones, and folders with other names; sorted by name.
std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder);

// Returns why no session can be created here, whether or not the folder exists; nullopt if one can.
std::optional<base::Error> obstacle_in(const Root& root);

// A writer locks its folder for as long as it lives.
bool is_being_written(const std::filesystem::path& folder);

// The name of a finished session, or the one that it will have.
std::filesystem::path finished_name(const std::filesystem::path& folder);
// The current folder of a session with this finished name: it has its unfinished name while the run is in progress.
std::filesystem::path present_folder(const std::filesystem::path& folder);
// Returns whether its run is in progress and a launcher is writing it.
bool run_goes_on(const std::filesystem::path& folder);

// The message for a blank session without a launcher.
inline constexpr const char* kNothingYet =
    "nothing was recorded yet with the environment that cudadiag env printed: no program has initialised CUDA with it, "
    "or its recording could not be written here";

}  // namespace cudadiag::session
