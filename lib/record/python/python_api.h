// The few functions of CPython's C API that the hook needs, looked up in the process. All except
// PyInterpreterState_Main belong to the stable ABI, so no Python header is needed.
#pragma once

#include <sys/types.h>

namespace cudadiag::record {

struct PyObject;

struct PythonFunction {  // PyMethodDef
  const char* name;
  PyObject* (*function)(PyObject* self, PyObject* argument);
  int flags;
  const char* documentation;
};
inline constexpr int kPythonNoArguments = 4, kPythonOneArgument = 8;  // METH_NOARGS, METH_O
inline constexpr int kPythonFileInput = 257;                          // Py_file_input

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

}  // namespace cudadiag::record
