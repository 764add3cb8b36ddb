// cudadiag's Python code inside the target, in a rerun. It collects facts that no callback has, such as the values that
// a suspect line passes to its operators. It is the package lib/python/cudadiag_hook. lib/python/load.py runs it once
// from memory, on the main thread, as soon as the interpreter allows it. The package's module `recorder` gets:
//
//    lines                the value of CUDADIAG_VALUES (wire/rerun/values.h); "" if no values are wanted
//    deliver(text)        writes a line for the session; on one thread, in order with its operations
//    deliver_watched(text)  the same, into a ring of the latest lines
//    note(text)           reports a degraded mode
//    inputs_folder        a folder for saving the failing call; it does not exist yet
//    failed()             whether an operation has failed, so that nothing on the GPU works any more
//    near()               whether an awaited operation can come now
//    quiet(bool)          from here on, this thread's CUDA calls are the hook's own and not recorded
//    hooked(bool)         this thread is inside an operator whose values were read: its native stack leads through the
//                         hook, and is left out of its sites
//
// An exception in the hook leaves a note. An exception raised meanwhile by the target's own signal handler reaches the
// target. Python stacks leave out the package's frames. The target's own code can find nothing of the hook except what
// the package installs: its modules are not in sys.modules.
#pragma once

#include <atomic>

#include "record/calls/failures.h"
#include "record/output/interner.h"
#include "record/python/python_api.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class PythonHook {
 public:
  // Requests that the interpreter run the package. Leaves a note if no interpreter can. Needs no GIL.
  void ask(Interner& interner, const Window& window, const Failures& failures);
  bool asked() const { return asked_; }

  // An awaited call of an operation comes now or soon.
  void come_near() {
    if (!near_.load(std::memory_order_relaxed)) near_.store(true, std::memory_order_relaxed);
  }

  // The co_filename of the package's code objects identifies the hook's frames.
  bool is_own_file(const void* file) const { return file != nullptr && file_.load(std::memory_order_relaxed) == file; }

 private:
  static int run_pending(void*);
  // Returns false if an exception of the target is set, which the target must receive.
  bool run();
  bool run_loader(PyObject* names);
  bool add_functions(PyObject* names);
  bool add_sources(PyObject* names);
  bool add_text(PyObject* names, const char* name, const char* value);
  // Returns false if the error belongs to the target, and is set again.
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
