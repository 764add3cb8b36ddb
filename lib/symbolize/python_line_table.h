// From the place inside a code object's bytecode to the source line that a traceback would show for it.
//
// The meaning of `offset`, in bytes from the start of the bytecode, and why one look-up serves all releases:
//    3.9   f_lasti: the instruction being executed.
//    3.10  f_lasti counts two-byte units there; offset is twice that.
//    3.11, 3.12  prev_instr - code: the instruction being executed; while it runs a Python function that it called,
//          the last of that instruction's inline caches. The table's entries cover the caches too.
//    3.13, 3.14  instr_ptr - code: the instruction being executed, also while it runs a Python function.
// A frame that has not started yet stands before its first instruction in 3.12 and earlier: a negative offset, for
// which CPython says the code object's first line.
#pragma once

#include <cstdint>

#include "session/process_record.h"

namespace cudadiag::symbolize {

// 0 where the table has no line: instructions that the compiler made up, damaged tables, offsets past the end.
int python_line(const session::Code& code, std::uint32_t offset);

}  // namespace cudadiag::symbolize
