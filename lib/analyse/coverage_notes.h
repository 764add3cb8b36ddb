// Notes about what a recording lacks, and why. Programs may rely on the notes' codes.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Returns whether the recorder turned itself off in the process.
bool is_unrecorded(const session::Process& process);

// For a code that says why the recorder could not start, returns what the user can do. Returns null for other codes.
const char* remedy_for(NoteCode code);

// If `several` processes were recorded, each note names its process.
std::vector<Note> coverage_notes(const session::Process& process, bool several);

// Counts the operations that no marker or wait has shown to be finished.
std::uint64_t unfinished_operations(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
