// The gaps in a recording and their reasons, as notes with codes that machines may rely on.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns whether the recorder stepped aside in the process.
bool is_unrecorded(const session::Process& process);

// Returns the remedy if a note with this code says why the recorder could not start; null for other codes.
const char* remedy_for(NoteCode code);

// If `several` processes were recorded, each note names its process.
std::vector<Note> coverage_notes(const session::Process& process, bool several);

// Counts the operations that no marker or wait has shown to be finished.
std::uint64_t unfinished_operations(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
