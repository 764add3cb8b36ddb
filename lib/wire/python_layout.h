// Offsets of the data that a stack walk needs, for each minor version of CPython, on x86-64 and 64-bit Arm. Source:
// offsetof with each release's own headers (Include/internal/pycore_frame.h, cpython/code.h), compiled for 3.9.18,
// 3.10.13, 3.11.7, 3.12.1 and 3.13.0. Those of 3.14 are tested against the interpreter's own tracebacks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudadiag::wire::python {

struct PythonLayout {
  int minor;
  std::size_t thread_frame;     // in PyThreadState: the innermost frame, or _PyCFrame (3.11, 3.12)
  std::ptrdiff_t cframe_frame;  // in _PyCFrame: the innermost frame; -1 without a _PyCFrame
  std::size_t frame_code, frame_previous, frame_instruction;
  std::ptrdiff_t frame_owner;  // -1 if frames have none
  bool instruction_is_index;   // f_lasti (an index) instead of a pointer into the bytecode
  int index_scale;             // bytes per unit of f_lasti
  std::size_t code_bytecode;   // only if the instruction is a pointer
  std::size_t code_file, code_name, code_first_line, code_line_table;
  std::size_t ascii_header, compact_header;  // sizes of PyASCIIObject and PyCompactUnicodeObject
  std::ptrdiff_t code_version;               // unique among all code objects (since 3.12); -1 if none
};

// A frame with this or a higher owner is a shim without code. It belongs to the C stack (3.12, 3.13) or the interpreter
// (3.14).
inline constexpr unsigned char kFirstShimOwner = 3;
inline constexpr unsigned char kLastOwner = 4;

// CPython 3.14 uses the low bits of a frame's pointer to its code as tags. In other versions, these bits are clear.
inline constexpr std::uintptr_t kReferenceMarks = 7;

inline constexpr PythonLayout kPythonLayouts[] = {
    {9, 24, -1, 32, 24, 104, -1, true, 1, 0, 104, 112, 40, 120, 48, 72, -1},
    {10, 24, -1, 32, 24, 96, -1, true, 2, 0, 104, 112, 40, 120, 48, 72, -1},
    {11, 56, 8, 32, 48, 56, 69, false, 0, 184, 112, 128, 72, 136, 48, 72, -1},
    {12, 56, 0, 0, 8, 56, 70, false, 0, 192, 112, 128, 68, 136, 40, 56, 92},
    {13, 72, -1, 0, 8, 56, 70, false, 0, 200, 112, 128, 68, 136, 40, 56, 92},
    {14, 72, -1, 0, 8, 56, 74, false, 0, 208, 112, 128, 68, 136, 40, 56, 92},
};

inline const std::byte* unmarked(const std::byte* reference) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(reference) & ~kReferenceMarks);
}

// Since 3.13, _PyRuntime begins with a table of offsets, which is divided into sections. These are the offsets of the
// sections.
struct OffsetTable {
  int minor;
  std::size_t thread_state, frame, code;
};
inline constexpr OffsetTable kOffsetTables[] = {{13, 152, 224, 272}, {14, 176, 248, 312}};
inline constexpr char kOffsetCookie[] = "xdebugpy";

// These offsets are the same in all versions.
inline constexpr std::size_t kObjectType = 8;
inline constexpr std::size_t kIndexedBytecode = 48;  // if instructions are indices: the bytes object with the bytecode
inline constexpr std::size_t kObjectSize = 16;  // in variable-size objects; in a code object, number of two-byte units
inline constexpr std::size_t kBytesSize = 16, kBytesHash = 24, kBytesData = 32;
inline constexpr std::size_t kStringLength = 16, kStringState = 32;

}  // namespace cudadiag::wire::python
