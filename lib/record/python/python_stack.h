// The Python stack of the calling thread as an intern id, read from memory without the GIL.
//
// This is sound because the walk reads the calling thread's own frames: the thread is inside a call that they made, so
// nothing can unlink or free them meanwhile. Other threads' frames are never touched.
//
// A build of CPython may lay out its structures in another way than its release. So the first walk is careful: memory
// is read through the kernel, and everything on the way must look as the layout says. If it does not, there are no
// Python stacks, and a note.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/output/interner.h"
#include "record/python/python_hook.h"
#include "wire/python_layout.h"

namespace cudadiag::record {

using wire::python::PythonLayout;

class PythonStacks {
 public:
  static bool is_loaded();
  // Looks for an interpreter in the process. False: none (yet), or one whose layout is not known; then a note says so.
  bool start(Interner& interner, const PythonHook& hook);
  // In a child of fork(): takes over what the parent has found.
  void adopt(const PythonStacks& parent, Interner& interner, const PythonHook& hook);
  // Address inside the interpreter's module: native stacks end there.
  std::uintptr_t interpreter() const { return interpreter_; }

  // 0: no Python frame on this thread.
  std::uint32_t current();
  // A hash that distinguishes this stack from the process's other ones, without a look-up of interned stacks. False:
  // not available yet.
  // The calling thread's PyThreadState, once current() has found a stack.
  std::uint64_t thread_state() const { return reinterpret_cast<std::uint64_t>(this_thread_state_()); }
  [[gnu::hot, gnu::noinline]] bool fingerprint(std::uint64_t& hash) const;

 private:
  static constexpr std::size_t kFrames = 128;
  struct Walk;
  struct Frames;

  enum class Trust : std::uint8_t { none, unproven, proven };

  const std::byte* innermost(const std::byte* thread) const;
  // Whether the layout holds for the calling thread's frames; in python_proof.cc.
  enum class Proof { none_yet, refuted, holds };
  Proof prove(const std::byte* thread) const;
  // `calling`: the frame is at a call, so never at the first instruction.
  bool is_code(const std::byte* code, std::uintptr_t instruction, bool calling) const;
  bool is_a(const std::byte* object, const std::byte* type) const;
  bool agrees_with_runtime() const;
  // `visit(code object, instruction)` for each frame, the innermost first.
  template <typename Visit>
  bool walk(const std::byte* frame, Walk& found, Visit visit) const;
  template <std::size_t kLayout, typename Visit>
  bool walk_by(const std::byte* frame, Walk& found, Visit visit) const;
  std::uint32_t intern(const Walk& walk, const Frames& found);
  std::uint32_t intern_code(const std::byte* code);
  // Whether there are several interpreters: a thread then leads to the main one's frames whichever it runs.
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
