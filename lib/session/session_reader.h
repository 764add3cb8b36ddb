// Finds and opens sessions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"
#include "session/session_folders.h"
#include "wire/clock.h"

namespace cudadiag::session {

// Returns why a folder, or a path inside one, cannot be read; nullopt if it can be read or does not exist.
std::optional<base::Error> unreadable(const std::filesystem::path& folder);

// Returns a reason why sessions may be missing from a search. A root may be unreadable, be missing although the user
// chose it, or contain only sessions of other users. An empty default folder is not a reason.
std::optional<base::Error> obstacle_to_reading(const std::vector<Root>& roots);
// Returns an error if $CUDADIAG_DIR is probably a typo: the folder does not exist, although a run could have created
// it. If no run could have created the folder, the sessions are in the other roots.
std::optional<base::Error> misnamed(const std::vector<Root>& roots);

// Returns the folder of the session that the user means. `wanted` is one of these: "" or "latest" for the newest
// session in all roots; the name of a session, or its beginning; its number in listed_in(), from 1; a path. A number
// takes precedence over a path.
base::Result<std::filesystem::path> find_session(const std::vector<Root>& roots, const std::string& wanted);

// Returns whether `cudadiag env` prepared the session and no program has recorded to it yet.
bool is_unused(const std::filesystem::path& folder);
// Returns the newest session in these roots that `cudadiag env` prepared and that no program has recorded to.
std::optional<std::filesystem::path> newest_unused(const std::vector<Root>& roots);
// Returns the sessions to list, newest first. Omits those that `cudadiag env` prepared and that no program has used.
std::vector<std::filesystem::path> listed_in(const std::vector<Root>& roots);

// Opens a finished session, an incomplete one, or a folder of bare areas that a recorder wrote without a launcher. The
// manifest's notes say what is missing or damaged. Pass the current time as `now` if processes may still be running.
base::Result<Session> open_session(const std::filesystem::path& folder, std::optional<wire::ClockReading> now = {});

// Reads only the manifest. Returns an empty manifest if the file is missing or cannot be read.
Manifest open_manifest(const std::filesystem::path& folder);
// Like open_manifest(), for a run in progress (session/session_folders.h).
Manifest open_running_manifest(const std::filesystem::path& folder);

// Adds the processes of these areas to `processes`, and a note to `session` for each area that cannot be used.
void read_areas(const std::vector<std::filesystem::path>& files, Session& session, std::vector<Process>& processes,
                std::optional<wire::ClockReading> now = {});

// Returns the process that `record` describes, including how it ended according to the manifest.
Process describe_process(ProcessRecord record, const Manifest& manifest);

// Sorts by start time, then pid: the order of Session::processes.
void sort_processes(std::vector<Process>& processes);

// Reads the deliveries of each process from this pass folder. Also adds processes that were checked for non-finite
// elements but have no area.
void attach_hook_output(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
