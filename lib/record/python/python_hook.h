// Python code of ours inside the target, in a rerun: it knows facts that no callback has, such as the values that go
// into a suspect line's operators. It is the package lib/python/cudadiag_hook, which lib/python/load.py runs once from
// memory, on the main thread, as soon as the interpreter allows it. Its module `recorder` gets:
//
//    lines                what CUDADIAG_VALUES says (wire/rerun/values.h); "" where no values are wanted
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
// An exception in it leaves a note; what a handler of the target's raises meanwhile, of a signal, reaches the target.
// Frames of the package are left out of Python stacks. Nothing is left in the target that its own code can find, but for
// what the package itself sets up there: its modules are not in sys.modules.
#pragma once

#include <atomic>

#include "record/calls/failures.h"
#include "record/output/interner.h"
#include "record/python/python_api.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class PythonHook {
 public:
  // Asks the interpreter to run the package; leaves a note if there is none that could. Needs no GIL.
  void ask(Interner& interner, const Window& window, const Failures& failures);
  bool asked() const { return asked_; }

  // A call of an operation that is waited for comes, or will soon.
  void come_near() {
    if (!near_.load(std::memory_order_relaxed)) near_.store(true, std::memory_order_relaxed);
  }

  // co_filename of the package's code objects: frames that have it are the hook's.
  bool is_own_file(const void* file) const { return file != nullptr && file_.load(std::memory_order_relaxed) == file; }

 private:
  static int run_pending(void*);
  // False: an exception of the target's is set, and the target must get it.
  bool run();
  bool run_loader(PyObject* names);
  bool add_functions(PyObject* names);
  bool add_sources(PyObject* names);
  bool add_text(PyObject* names, const char* name, const char* value);
  // False: the error is the target's, and is set again.
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
