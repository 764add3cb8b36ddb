// Python code of ours inside the target, in a rerun: it knows facts that no callback has, such as the values that go
// into a suspect line's operators. Its sources are lib/record/python/hook/*.py. Each is run once in a namespace of its own, on
// the main thread, as soon as the interpreter allows it. They find there:
//
//    lines                what CUDADIAG_VALUES says (wire/values.h); "" where no values are wanted
//    deliver(text)        a line for the session, on one thread in order with its operations
//    deliver_watched(text)  the same into a ring of the latest lines
//    note(text)           a degraded mode, for the report
//    inputs_folder        where the failing call may be saved; a folder that is not there yet
//    failed()             whether an operation has failed: nothing on the GPU works any more
//    near()               whether an operation that is waited for can come now
//    quiet(bool)          this thread's calls into CUDA are the hook's own: they are not recorded from here on
//    hooked(bool)         this thread is inside an operator whose values were taken: its native stack, which leads
//                         through the hook, is left out of its sites
//
// A source that raises leaves a note, and the others run; what a handler of the target's raises meanwhile, of a signal,
// reaches the target. Frames of the sources are left out of Python stacks. Nothing
// is left in the target that its own code can find, but for what a source itself sets up there.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "record/calls/failures.h"
#include "record/output/interner.h"
#include "record/python/python_api.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

struct HookSource {
  const char* name;
  const char* text;
};
std::span<const HookSource> hook_sources();

class PythonHook {
 public:
  static constexpr std::size_t kMostSources = 4;

  // Asks the interpreter to run the sources; leaves a note if there is none that could. Needs no GIL.
  void ask(Interner& interner, const Window& window, const Failures& failures);
  bool asked() const { return asked_; }

  // A call of an operation that is waited for comes, or will soon.
  void come_near() {
    if (!near_.load(std::memory_order_relaxed)) near_.store(true, std::memory_order_relaxed);
  }

  // co_filename of a source's code objects: frames that have it are the hook's.
  bool is_own_file(const void* file) const {
    for (const auto& own : files_) {
      if (own.load(std::memory_order_relaxed) == file) return true;
    }
    return false;
  }

 private:
  static int run_pending(void*);
  // False: an exception is set that the target is to get, as it is the target's.
  bool run();
  bool run_source(const HookSource& source, PyObject* builtins);
  bool add_functions(PyObject* names);
  bool add_text(PyObject* names, const char* name, const char* value);
  // False: the error is the target's, and is set again.
  bool note_error(const char* source);
  bool comes_from_target(PyObject* traceback);

  Interner* interner_ = nullptr;
  const Failures* failures_ = nullptr;
  PythonApi python_;
  bool asked_ = false;
  std::atomic<bool> near_ = false;
  std::array<std::atomic<const void*>, kMostSources> files_{};
  std::size_t sources_run_ = 0;

  friend struct HookFunctions;
};

}  // namespace cudadiag::record
