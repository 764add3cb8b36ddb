// Where CPython keeps what a stack walk needs, per minor version, on x86-64 (64-bit Arm agrees in these structures
// but is untried, so Python stacks are off there). Source: offsetof over each release's own headers
// (Include/internal/pycore_frame.h, cpython/code.h), compiled for 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0.
#pragma once

#include <cstddef>

namespace cudadiag::record {

struct PythonLayout {
  int minor;
  std::size_t thread_frame;     // in PyThreadState: the innermost frame, or _PyCFrame (3.11, 3.12)
  std::ptrdiff_t cframe_frame;  // in _PyCFrame: the innermost frame; -1: there is no _PyCFrame
  std::size_t frame_code, frame_previous, frame_instruction;
  std::ptrdiff_t frame_owner;  // -1: frames have none
  bool instruction_is_index;   // f_lasti (an index) instead of a pointer into the bytecode
  int index_scale;             // bytes per unit of f_lasti
  std::size_t code_bytecode;   // only where the instruction is a pointer
  std::size_t code_file, code_name, code_first_line, code_line_table;
  std::size_t ascii_header, compact_header;  // sizes of PyASCIIObject and PyCompactUnicodeObject
};

inline constexpr unsigned char kOwnedByCStack = 3;  // a shim frame without code of its own (3.12, 3.13)

inline constexpr PythonLayout kPythonLayouts[] = {
    {9, 24, -1, 32, 24, 104, -1, true, 1, 0, 104, 112, 40, 120, 48, 72},
    {10, 24, -1, 32, 24, 96, -1, true, 2, 0, 104, 112, 40, 120, 48, 72},
    {11, 56, 8, 32, 48, 56, 69, false, 0, 184, 112, 128, 72, 136, 48, 72},
    {12, 56, 0, 0, 8, 56, 70, false, 0, 192, 112, 128, 68, 136, 40, 56},
    {13, 72, -1, 0, 8, 56, 70, false, 0, 200, 112, 128, 68, 136, 40, 56},
};

// The same in all of them.
inline constexpr std::size_t kObjectType = 8;
inline constexpr std::size_t kBytesSize = 16, kBytesData = 32;
inline constexpr std::size_t kStringLength = 16, kStringState = 32;

}  // namespace cudadiag::record
