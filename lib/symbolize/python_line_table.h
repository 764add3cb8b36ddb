// Maps a place in a code object's bytecode to the source line that a traceback would show for it.
//
// `offset` is in bytes from the start of the bytecode. It comes from a different field in each release:
//    3.9   f_lasti: the instruction being executed.
//    3.10 f_lasti counts two-byte units; offset is twice that.
//    3.11, 3.12 prev_instr - code: the instruction being executed; during a call of a Python function,
//          the last inline cache of the call instruction. The table's entries cover the caches too.
//    3.13, 3.14 instr_ptr - code: the instruction being executed, also during a call of a Python function.
// In 3.12 and earlier, the offset is negative in a frame that has not started. CPython then reports the code object's
// first line.
#pragma once

#include <cstdint>

#include "session/process_record.h"

namespace cudadiag::symbolize {

// Returns 0 if the table has no line for `offset`: the compiler added the instruction, the table is damaged, or
// `offset` is past the end.
int python_line(const session::Code& code, std::uint32_t offset);

}  // namespace cudadiag::symbolize
