// The processes of a running or ended target, read from the launcher's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Returns the processes that have an area. If there is a writer, also returns those that found no free area and wrote a
// file into the pass folder instead. Adds notes to `session` about everything that could not be read.
std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session);

// A note on processes that recorded neither to an area nor to a file. Returns nullopt if there are none.
std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer);

// A sentence about processes that could not be recorded for a different reason, and a hint. Returns nullopt if no such
// process left a trace.
std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer);

// The processes that have not ended and are not about to end.
std::vector<std::uint32_t> recording_processes(const launch::Arena& arena);

// Stores the areas in the folder of the writer's current pass.
std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer);

// The seconds from `start` (since the epoch) to the first freeze; nullopt if no process has frozen.
std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start);

}  // namespace cudadiag::supervise
