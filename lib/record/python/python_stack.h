// The Python stack of the calling thread as an intern id, read from memory without the GIL.
//
// This is safe because the walk reads only the calling thread's own frames. The thread is inside a call from these
// frames, so they cannot be unlinked or freed during the walk. Other threads' frames are never read.
//
// A build of CPython may lay out its structures differently from the official release. The first walk is therefore
// careful: it reads memory with system calls, and checks that everything matches the layout. If anything differs,
// Python stacks are switched off, and a note says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "record/output/interner.h"
#include "record/python/hook_loader.h"
#include "wire/python_layout.h"

namespace cudadiag::record {

using wire::python::PythonLayout;

// Reads fields of the program's structures by byte offset, because the recorder has no types for them.
template <typename T>
T read_field(const std::byte* object, std::ptrdiff_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

// A frame of a traceback. `offset` is its instruction's offset from the beginning of the bytecode, in bytes.
struct TracedFrame {
  const void* code;
  std::int32_t offset;
};

class PythonStacks {
 public:
  static bool is_loaded();
  // Looks for an interpreter in the process. Returns false if there is none yet, or if its layout is unknown; in the
  // latter case, leaves a note.
  bool start(Interner& interner, const PythonHook& hook);
  // Call this in a child of fork(). Takes over the interpreter that the parent has found.
  void adopt(const PythonStacks& parent, Interner& interner, const PythonHook& hook);
  // Returns an address inside the interpreter's module. A native stack ends before its first frame in this module.
  std::uintptr_t interpreter() const { return interpreter_; }

  std::uint32_t current();
  // Returns the id of the stack with these frames, innermost first. Uses only the first kFrames frames. Needs the GIL.
  // Returns 0 if the code objects do not match the layout.
  std::uint32_t of_traceback(std::span<const TracedFrame> traced);
  // Returns the calling thread's PyThreadState. Valid only after current() has found a stack.
  std::uint64_t thread_state() const { return reinterpret_cast<std::uint64_t>(this_thread_state_()); }
  // Computes a sum that distinguishes the current stack from the process's other stacks, without looking up interned
  // stacks. Returns false if the sum is not available yet.
  [[gnu::hot, gnu::noinline]] bool fingerprint(std::uint64_t& sum) const;

 private:
  static constexpr std::size_t kFrames = 128;
  struct Walk;
  struct Frames;

  enum class Trust : std::uint8_t { none, unproven, proven };

  const std::byte* innermost(const std::byte* thread) const;
  // Checks whether the calling thread's frames match the layout (python_layout_check.cc). `none_yet`: the thread has no
  // frames.
  enum class Proof { none_yet, refuted, holds };
  Proof prove(const std::byte* thread) const;
  // `calling` is true if the frame is inside a call, and thus past its first instruction.
  bool is_code(const std::byte* code, std::uintptr_t instruction, bool calling) const;
  bool is_a(const std::byte* object, const std::byte* type) const;
  bool agrees_with_runtime() const;
  // Calls `visit(index, code object, instruction)` for each frame, innermost first.
  template <typename Visit>
  bool walk(const std::byte* frame, Walk& found, Visit visit) const;
  template <std::size_t kLayout, typename Visit>
  bool walk_by(const std::byte* frame, Walk& found, Visit visit) const;
  std::uint32_t find_or_intern(const Walk& walk, const Frames& found);
  std::uint32_t intern(std::uint64_t key, const Walk& walk, const Frames& found);
  std::uint32_t intern_code(const std::byte* code);
  // Returns true if the process has several interpreters. In this case, a walk always finds the main interpreter's
  // frames, even on a thread that runs another interpreter.
  bool are_several() const;
  bool looks_like_code(const std::byte* code) const;
  void give_up(const char* why);

  Interner* interner_ = nullptr;
  const PythonHook* hook_ = nullptr;
  const PythonLayout* layout_ = nullptr;
  std::uintptr_t interpreter_ = 0;
  const std::byte* (*this_thread_state_)() = nullptr;
  int (*is_initialized_)() = nullptr;
  const void* (*newest_interpreter_)() = nullptr;
  const void* (*main_interpreter_)() = nullptr;
  const std::byte* code_type_ = nullptr;
  const std::byte* string_type_ = nullptr;
  const std::byte* bytes_type_ = nullptr;
  std::atomic<Trust> trust_ = Trust::none;
};

}  // namespace cudadiag::record
