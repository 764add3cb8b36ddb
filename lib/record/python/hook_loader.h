// Runs cudadiag's Python code inside the user's process, in a rerun. The code collects data that no callback provides,
// such as the values that a suspect line passes to its operators. The code is the package lib/python/cudadiag_hook.
// lib/python/load.py runs it once from memory, on the main thread, as soon as the interpreter allows it. The package's
// module `recorder` contains:
//
//    lines                the value of CUDADIAG_VALUES (wire/rerun.h); "" if no values are wanted
//    deliver(text)        writes a line for the session, in order with the calling thread's operations
//    deliver_watched(text)  like deliver(), but writes into a ring of the latest lines
//    note(text)           reports a degraded mode
//    inputs_folder        a folder for saving the failing call; it does not exist yet
//    failed()             returns True if an operation has failed, so that the GPU cannot be used
//    near()               returns True if an operation that the rerun waits for may come soon
//    quiet(bool)          while on, this thread's CUDA calls are the hook's own, and are not recorded. Switching it on
//                         waits while another thread's operation runs alone
//    hooked(bool)         while on, this thread is inside an operator whose values were read. The native stack then
//                         contains frames of the hook, so it is not part of the call site
//
// An exception in the hook leaves a note. If a signal handler of the program raises an exception while the hook runs,
// the exception reaches the program. Python stacks do not contain the package's frames. The program's own code can find
// no part of the hook except what the package installs, because the package's modules are not in sys.modules.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/calls/failures.h"
#include "record/output/interner.h"
#include "record/rerun/window.h"

namespace cudadiag::record {

class ExclusiveWait;

struct PyObject;

struct PythonFunction {  // PyMethodDef
  const char* name;
  PyObject* (*function)(PyObject* self, PyObject* argument);
  int flags;
  const char* documentation;
};
inline constexpr int kPythonNoArguments = 4, kPythonOneArgument = 8;  // METH_NOARGS, METH_O
inline constexpr int kPythonFileInput = 257;                          // Py_file_input

// The few functions of CPython's C API that the hook needs, looked up in the process. All except
// PyInterpreterState_Main belong to the stable ABI, so no Python header is needed.
struct PythonApi {
  // Returns false if the process has no interpreter, or if a function is missing.
  bool load();

  int (*is_initialized)() = nullptr;
  int (*add_pending_call)(int (*)(void*), void*) = nullptr;  // needs no GIL
  const void* (*main_interpreter)() = nullptr;               // needs no GIL
  // All following functions need the GIL.
  const void* (*interpreter)() = nullptr;          // the calling thread's interpreter
  PyObject* (*add_module)(const char*) = nullptr;  // PyImport_AddModule: a borrowed reference
  PyObject* (*modules)() = nullptr;                // sys.modules: a borrowed reference
  // an object of `sys`: a borrowed reference, or null without an exception
  PyObject* (*system_object)(const char*) = nullptr;
  PyObject* (*compile)(const char* source, const char* file, int start) = nullptr;
  PyObject* (*run)(PyObject* code, PyObject* globals, PyObject* locals) = nullptr;
  PyObject* (*attribute)(PyObject*, const char*) = nullptr;
  PyObject* (*new_dictionary)() = nullptr;
  int (*set_item)(PyObject* dictionary, const char*, PyObject*) = nullptr;
  PyObject* (*item)(PyObject* dictionary, const char*) = nullptr;  // a borrowed reference, or null without an exception
  PyObject* (*call)(PyObject* function, ...) = nullptr;            // arguments, then a null pointer
  PyObject* (*new_function)(PythonFunction*, PyObject*, PyObject*) = nullptr;
  PyObject* (*new_string)(const char*) = nullptr;
  const char* (*utf8)(PyObject*, ssize_t*) = nullptr;
  PyObject* (*text_of)(PyObject*) = nullptr;
  int (*is_true)(PyObject*) = nullptr;
  long (*as_long)(PyObject*) = nullptr;
  PyObject* (*new_bool)(long) = nullptr;
  void (*drop)(PyObject*) = nullptr;
  void (*fetch_error)(PyObject**, PyObject**, PyObject**) = nullptr;
  void (*restore_error)(PyObject*, PyObject*, PyObject*) = nullptr;  // takes over the references
  PyObject* (*error_occurred)() = nullptr;                           // a borrowed reference
  int (*error_matches)(PyObject* type) = nullptr;
  void (*clear_error)() = nullptr;
  PyObject** exception = nullptr;  // PyExc_Exception
  PyObject* none = nullptr;        // None
};

class PythonHook {
 public:
  // Requests that the interpreter run the package. Leaves a note if that is impossible. Needs no GIL.
  void ask(Interner& interner, const Window& window, const Failures& failures, ExclusiveWait& exclusive_wait);
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
  ExclusiveWait* exclusive_wait_ = nullptr;
  PythonApi python_;
  bool asked_ = false;
  std::atomic<bool> near_ = false;
  std::atomic<const void*> file_ = nullptr;

  friend struct HookFunctions;
};

// Writes the output of the Python hook: lines in a file next to the process's area (wire/rerun.h). Uses
// write(2) for each line, so that the lines survive a crash of the process.
class Deliveries {
 public:
  // Returns false if the line was dropped. Any thread may call this function.
  bool add(std::string_view text);
  // Writes to a separate file that keeps only the latest lines.
  bool add_watched(std::string_view text);

 private:
  static int open(const char* suffix, int flags);

  std::atomic<std::size_t> used_ = 0;
  std::atomic<std::uint64_t> watched_ = 0;
};

}  // namespace cudadiag::record
