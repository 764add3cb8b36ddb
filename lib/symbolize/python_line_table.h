// Maps a place in a code object's bytecode to the source line that a traceback would show for it.
//
// `offset` is in bytes from the start of the bytecode. One look-up serves all releases, although its origin differs:
//    3.9   f_lasti: the instruction being executed.
//    3.10  f_lasti counts two-byte units there; offset is twice that.
//    3.11, 3.12  prev_instr - code: the instruction being executed; while it runs a Python function that it called,
//          the last of that instruction's inline caches. The table's entries cover the caches too.
//    3.13, 3.14  instr_ptr - code: the instruction being executed, also while it runs a Python function.
// A frame that has not started yet is before its first instruction in 3.12 and earlier: a negative offset, for which
// CPython reports the code object's first line.
#pragma once

#include <cstdint>

#include "session/process_record.h"

namespace cudadiag::symbolize {

// Returns 0 if the table has no line: for instructions that the compiler added, damaged tables, and offsets past the
// end.
int python_line(const session::Code& code, std::uint32_t offset);

}  // namespace cudadiag::symbolize
