// Runs cudadiag's Python code inside the user's process, in a rerun. The code collects data that no callback provides,
// such as the values that a suspect line passes to its operators. The code is the package lib/python/cudadiag_hook.
// lib/python/load.py runs it once from memory, on the main thread, as soon as the interpreter allows it. The package's
// module `recorder` contains:
//
//    lines                the value of CUDADIAG_VALUES (wire/rerun/values.h); "" if no values are wanted
//    deliver(text)        writes a line for the session, in order with the calling thread's operations
//    deliver_watched(text)  like deliver(), but writes into a ring of the latest lines
//    note(text)           reports a degraded mode
//    inputs_folder        a folder for saving the failing call; it does not exist yet
//    failed()             returns True if an operation has failed, so that the GPU cannot be used
//    near()               returns True if an operation that the rerun waits for may come soon
//    quiet(bool)          while on, this thread's CUDA calls are the hook's own, and are not recorded
//    hooked(bool)         while on, this thread is inside an operator whose values were read. The native stack then
//                         contains frames of the hook, so it is not part of the call site
//
// An exception in the hook leaves a note. If a signal handler of the program raises an exception while the hook runs,
// the exception reaches the program. Python stacks do not contain the package's frames. The program's own code can find
// no part of the hook except what the package installs, because the package's modules are not in sys.modules.
#pragma once

#include <atomic>

#include "record/calls/failures.h"
#include "record/output/interner.h"
#include "record/python/python_api.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class PythonHook {
 public:
  // Requests that the interpreter run the package. Leaves a note if that is impossible. Needs no GIL.
  void ask(Interner& interner, const Window& window, const Failures& failures);
  bool asked() const { return asked_; }

  // Call this when an operation that the rerun waits for may come soon.
  void come_near() {
    if (!near_.load(std::memory_order_relaxed)) near_.store(true, std::memory_order_relaxed);
  }

  // Returns true if a frame with this co_filename belongs to the hook.
  bool is_own_file(const void* file) const { return file != nullptr && file_.load(std::memory_order_relaxed) == file; }

 private:
  static int run_pending(void*);
  // Returns false if the program has raised an exception, which it must still receive.
  bool run();
  bool run_loader(PyObject* names);
  bool add_functions(PyObject* names);
  bool add_sources(PyObject* names);
  bool add_text(PyObject* names, const char* name, const char* value);
  // Leaves a note about the pending exception, and clears it. If the program raised the exception, keeps it pending and
  // returns false.
  bool note_error();
  bool comes_from_target(PyObject* traceback);

  Interner* interner_ = nullptr;
  const Failures* failures_ = nullptr;
  PythonApi python_;
  bool asked_ = false;
  std::atomic<bool> near_ = false;
  std::atomic<const void*> file_ = nullptr;

  friend struct HookFunctions;
};

}  // namespace cudadiag::record
