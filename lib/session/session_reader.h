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

// Why a folder that there is, or that lies in one, may not be read. Nothing: it may be, or there is none.
std::optional<base::Error> unreadable(const std::filesystem::path& folder);

// Why there may be sessions that are not found: the first folder that cannot be read, or that only a variable knows. An
// empty default folder is not an obstacle.
std::optional<base::Error> obstacle_to_reading(const std::vector<Root>& roots);
// $CUDADIAG_DIR names a folder that does not exist, though a run could have made it: a typing error. Otherwise the
// other roots have the sessions that could not be kept there.
std::optional<base::Error> misnamed(const std::vector<Root>& roots);

// The folder that the user means: nothing or "latest", which is the newest of all roots; the name of one within them, or
// how it begins; its number in the list of sessions_in(), from 1; or a path.
base::Result<std::filesystem::path> find_session(const std::vector<Root>& roots, const std::string& wanted);

// A session that `cudadiag env` has prepared, and that no program has recorded to yet.
bool is_unused(const std::filesystem::path& folder);

// Opens a finished session, an incomplete one, or a folder of bare areas that a recorder wrote without a launcher; what
// is missing or damaged is said in the manifest's notes. `now`: the clock, for processes that are still running.
base::Result<Session> open_session(const std::filesystem::path& folder, std::optional<wire::ClockReading> now = {});

// The manifest alone; empty if there is none that can be read.
Manifest open_manifest(const std::filesystem::path& folder);
// The same for a run in progress (session/area/live_place.h).
Manifest open_running_manifest(const std::filesystem::path& folder);

// Adds the processes of these areas to `processes`, and to `session` a note for each that cannot be used.
void read_areas(const std::vector<std::filesystem::path>& files, Session& session, std::vector<Process>& processes,
                std::optional<wire::ClockReading> now = {});

// A process as its own record describes it.
Process describe_process(ProcessRecord record, const Manifest& manifest);

// By start, then pid: the order of Session::processes.
void sort_processes(std::vector<Process>& processes);

}  // namespace cudadiag::session
