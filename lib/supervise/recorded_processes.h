// The processes of a running or ended target, as they are in the launcher's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Also of those that found no place there and wrote their own file into the pass's folder, if there is a writer;
// `session` gets notes on what could not be read.
std::vector<session::Process> read_processes(const launch::Arena* arena, const session::SessionWriter* writer,
                                             session::Session& session);

// For processes that found no place in the memory, and none for a file. Nothing: all did.
std::optional<std::string> note_on_unrecorded(const launch::Arena& arena, const session::SessionWriter* writer);

// A sentence about those that could not be recorded for another reason, with what to do. Nothing: there are none, as
// far as they could leave a trace.
std::optional<std::string> left_unrecorded(const launch::Arena* arena, const session::SessionWriter* writer);

// Processes that have not ended and are not about to.
std::vector<std::uint32_t> recording_processes(const launch::Arena& arena);

// To the folder of the writer's current pass.
std::optional<base::Error> store_areas(const launch::Arena& arena, session::SessionWriter& writer);

// Seconds from `start` (of the epoch) to the first freeze; nothing if no process has frozen.
std::optional<double> first_freeze(const std::vector<session::Process>& processes, double start);

}  // namespace cudadiag::supervise
