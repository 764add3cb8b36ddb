#include "record/python/python_api.h"

#include <dlfcn.h>

namespace cudadiag::record {

namespace {

template <typename Function>
bool resolve(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

bool PythonApi::load() {
  return resolve(is_initialized, "Py_IsInitialized") && resolve(add_pending_call, "Py_AddPendingCall") &&
         resolve(add_module, "PyImport_AddModule") && resolve(compile, "Py_CompileString") &&
         resolve(run, "PyEval_EvalCode") && resolve(attribute, "PyObject_GetAttrString") &&
         resolve(new_dictionary, "PyDict_New") && resolve(set_item, "PyDict_SetItemString") &&
         resolve(new_function, "PyCFunction_NewEx") && resolve(new_string, "PyUnicode_DecodeFSDefault") &&
         resolve(utf8, "PyUnicode_AsUTF8AndSize") && resolve(text_of, "PyObject_Str") &&
         resolve(is_true, "PyObject_IsTrue") && resolve(new_bool, "PyBool_FromLong") && resolve(drop, "Py_DecRef") &&
         resolve(fetch_error, "PyErr_Fetch") && resolve(clear_error, "PyErr_Clear") &&
         resolve(restore_error, "PyErr_Restore") && resolve(error_matches, "PyErr_ExceptionMatches") &&
         resolve(exception, "PyExc_Exception") && resolve(main_interpreter, "PyInterpreterState_Main") &&
         resolve(interpreter, "PyInterpreterState_Get") && resolve(modules, "PyImport_GetModuleDict") &&
         resolve(system_object, "PySys_GetObject") && resolve(item, "PyDict_GetItemString") &&
         resolve(call, "PyObject_CallFunctionObjArgs") && resolve(as_long, "PyLong_AsLong") &&
         resolve(error_occurred, "PyErr_Occurred") && resolve(none, "_Py_NoneStruct");
}

}  // namespace cudadiag::record
