// Reads the processes of a target, running or ended, from the launcher's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns the processes that have an area. With a writer, also returns the processes that found no free area and
// therefore wrote a file into the pass folder. Adds notes to `session` about what could not be read.
std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session);

// Returns a note on processes that were recorded neither in an area nor in a file; nullopt if there are none.
std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer);

// Returns a sentence, with a hint, about processes that could not be recorded; nullopt if there are none. Processes
// that found no free area do not count.
std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer);

// Returns the pids of processes that are still running and recording.
std::vector<std::uint32_t> recording_processes(const launch::Arena& arena);

// Stores the areas in the folder of the writer's current pass.
std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer);

// Returns how many seconds after `start` (since the epoch) the first process froze; nullopt if none has.
std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start);

}  // namespace cudadiag::supervise
