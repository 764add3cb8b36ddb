// The gaps in a recording and their reasons, as notes with codes that machines may rely on.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Whether the recorder stepped aside there.
bool is_unrecorded(const session::Process& process);

// The remedy if the recorder could not start, by the code of its note; null for notes that do not stop it.
const char* remedy_for(NoteCode code);

// Prefixed with the process where the session has several.
std::vector<Note> coverage_notes(const session::Process& process, bool several);

// Operations that no marker or wait had shown to be finished.
std::uint64_t unfinished_operations(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
