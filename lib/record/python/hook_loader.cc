#include "record/python/hook_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "python/hook_sources.h"
#include "record/libc_substitutes.h"
#include "record/rerun/exclusive_wait.h"
#include "record/this_thread.h"
#include "wire/environment.h"
#include "wire/rerun.h"

namespace cudadiag::record {

namespace {

// A global, because the interpreter passes no user data to our functions. It is set before the interpreter is called.
PythonHook* g_hook;
Deliveries g_deliveries;

std::string_view view(const PythonApi& python, PyObject* text) {
  ssize_t size = 0;
  const char* data = python.utf8(text, &size);
  return data == nullptr ? std::string_view() : std::string_view(data, static_cast<std::size_t>(size));
}

}  // namespace

// The functions that the package can call. They never raise an exception, and ignore invalid arguments.
struct HookFunctions {
  static PyObject* answer(bool yes) { return g_hook->python_.new_bool(yes); }
  static bool truth(PyObject* value) { return g_hook->python_.is_true(value) == 1; }

  static PyObject* deliver(PyObject*, PyObject* text) {
    const std::string_view line = view(g_hook->python_, text);
    if (line.data() == nullptr) g_hook->python_.clear_error();
    return answer(line.data() != nullptr && is_own_process() && g_deliveries.add(line));
  }

  static PyObject* deliver_watched(PyObject*, PyObject* text) {
    const std::string_view line = view(g_hook->python_, text);
    if (line.data() == nullptr) g_hook->python_.clear_error();
    return answer(line.data() != nullptr && is_own_process() && g_deliveries.add_watched(line));
  }

  static PyObject* note(PyObject*, PyObject* text) {
    const std::string_view line = view(g_hook->python_, text);
    if (line.data() == nullptr) g_hook->python_.clear_error();
    if (line.data() != nullptr && is_own_process()) g_hook->interner_->note("python-hook", line);
    return answer(line.data() != nullptr);
  }

  static PyObject* near(PyObject*, PyObject*) {
    return answer(is_own_process() && g_hook->near_.load(std::memory_order_relaxed));
  }

  static PyObject* failed(PyObject*, PyObject*) { return answer(g_hook->failures_->frozen()); }

  // The hook waits for its own work before it switches this off, so none of that work runs beside an operation that
  // runs alone.
  static PyObject* quiet(PyObject*, PyObject* on) {
    if (t_this.passing && is_own_process()) g_hook->exclusive_wait_->leave();
    t_this.quiet = truth(on);
    t_this.passing = t_this.quiet && is_own_process() && g_hook->exclusive_wait_->pass();
    return answer(t_this.quiet);
  }
  static PyObject* hooked(PyObject*, PyObject* on) { return answer(t_this.hooked = truth(on)); }
};

void PythonHook::ask(Interner& interner, const Window& window, const Failures& failures,
                     ExclusiveWait& exclusive_wait) {
  interner_ = &interner;
  failures_ = &failures;
  exclusive_wait_ = &exclusive_wait;
  // If the process has no Python, no note is needed.
  if (!python_.load()) return;
  if (python_.is_initialized() == 0) {
    interner.note("python-hook-off", "the Python hook read no values: CUDA was initialised before Python");
    return;
  }
  g_hook = this;
  if (window.from_the_start()) come_near();
  asked_ = python_.add_pending_call(run_pending, nullptr) == 0;
  if (!asked_)
    interner.note("python-hook-off", "the Python hook read no values: the interpreter accepts no pending calls");
}

// Runs with the GIL, on the main thread, between two bytecode instructions of the program.
int PythonHook::run_pending(void*) { return is_own_process() && !g_hook->run() ? -1 : 0; }

bool PythonHook::run() {
  PyObject *names = python_.new_dictionary(), *given = python_.new_dictionary(), *sources = python_.new_dictionary();
  PyObject* builtins = python_.add_module("builtins");
  const bool ready = names != nullptr && given != nullptr && sources != nullptr && builtins != nullptr &&
                     add_functions(given) && add_sources(sources) && python_.set_item(names, "given", given) == 0 &&
                     python_.set_item(names, "sources", sources) == 0 &&
                     python_.set_item(names, "__builtins__", builtins) == 0;
  const bool done = (ready && run_loader(names)) || note_error();
  // These references can be dropped: the functions that the package has installed keep its modules alive.
  for (PyObject* object : {names, given, sources}) {
    if (object != nullptr) python_.drop(object);
  }
  if (done) interner_->property("python.hook", "on");
  return done;
}

// Returns false if an exception is set.
bool PythonHook::run_loader(PyObject* names) {
  PyObject* code = python_.compile(python::hook_loader(), "<cudadiag>", kPythonFileInput);
  if (code == nullptr) return false;
  PyObject* result = python_.run(code, names, names);
  python_.drop(code);
  if (result == nullptr) return false;
  python_.drop(result);
  // The file name of all code objects of the package. We keep the string alive, so that its address is not reused.
  PyObject* package = python_.item(names, "package");
  PyObject* file = package == nullptr ? nullptr : python_.attribute(package, "file");
  file_.store(file);
  return file != nullptr;
}

bool PythonHook::add_sources(PyObject* names) {
  for (const python::HookModule& module : python::hook_modules()) {
    if (!add_text(names, module.name, module.text)) return false;
  }
  return true;
}

bool PythonHook::add_functions(PyObject* names) {
  static PythonFunction functions[] = {
      {"deliver", HookFunctions::deliver, kPythonOneArgument, nullptr},
      {"deliver_watched", HookFunctions::deliver_watched, kPythonOneArgument, nullptr},
      {"note", HookFunctions::note, kPythonOneArgument, nullptr},
      {"near", HookFunctions::near, kPythonNoArguments, nullptr},
      {"failed", HookFunctions::failed, kPythonNoArguments, nullptr},
      {"quiet", HookFunctions::quiet, kPythonOneArgument, nullptr},
      {"hooked", HookFunctions::hooked, kPythonOneArgument, nullptr},
  };
  for (PythonFunction& function : functions) {
    PyObject* made = python_.new_function(&function, nullptr, nullptr);
    if (made == nullptr || python_.set_item(names, function.name, made) != 0) return false;
    python_.drop(made);
  }
  const char* lines = getenv(wire::environment::kValues);
  const char* folder = getenv(wire::environment::kSession);
  char inputs[PATH_MAX] = "";
  if (folder != nullptr) snprintf(inputs, sizeof inputs, "%s/%d%s", folder, getpid(), wire::delivery::kInputsSuffix);
  return add_text(names, "lines", lines == nullptr ? "" : lines) && add_text(names, "inputs_folder", inputs);
}

bool PythonHook::add_text(PyObject* names, const char* name, const char* value) {
  PyObject* text = python_.new_string(value);
  if (text == nullptr || python_.set_item(names, name, text) != 0) return false;
  python_.drop(text);
  return true;
}

// Returns true if the traceback contains code outside the hook and the interpreter. This code is the handler of a
// signal that arrived while the hook ran.
bool PythonHook::comes_from_target(PyObject* traceback) {
  PyObject *file = traceback, *next = nullptr;
  for (const char* name : {"tb_frame", "f_code", "co_filename"}) {
    PyObject* object = file == nullptr ? nullptr : python_.attribute(file, name);
    if (file != nullptr && file != traceback) python_.drop(file);
    file = object;
  }
  if (file == nullptr) return python_.clear_error(), false;  // `traceback` is None, so its end is reached
  const bool is_foreign = !is_own_file(file) && !view(python_, file).starts_with("<frozen ");
  python_.drop(file);
  if (!is_foreign) next = python_.attribute(traceback, "tb_next");
  const bool found = is_foreign || comes_from_target(next);
  if (next != nullptr) python_.drop(next);
  return found;
}

bool PythonHook::note_error() {
  const bool is_exception = python_.error_matches(*python_.exception) != 0;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  python_.fetch_error(&type, &value, &traceback);
  char text[512];
  std::size_t used = 0;
  const auto add = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size() && used < sizeof text; ++i) text[used++] = part[i];
  };
  add("the Python hook did not run");
  if (type != nullptr && (!is_exception || comes_from_target(traceback))) {
    add(": a signal interrupted the program");
    interner_->note("python-hook", {text, used});
    python_.restore_error(type, value, traceback);
    return false;
  }
  PyObject* words = value == nullptr ? nullptr : python_.text_of(value);
  if (words != nullptr) {
    add(": ");
    const std::string_view said = view(python_, words);
    if (said.data() != nullptr) add(said);
  }
  python_.clear_error();
  interner_->note("python-hook", {text, used});
  for (PyObject* object : {type, value, traceback, words}) {
    if (object != nullptr) python_.drop(object);
  }
  return true;
}

namespace delivery = wire::delivery;

// Opens the file for every line, because the program may close descriptors that it does not recognise.
int Deliveries::open(const char* suffix, int flags) {
  const char* folder = getenv(wire::environment::kSession);
  if (folder == nullptr) return -1;
  // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < delivery::kMostBytes) return -1;
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%d%s", folder, getpid(), suffix) >= static_cast<int>(sizeof path)) {
    return -1;
  }
  return ::open(path, O_WRONLY | O_CREAT | flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool Deliveries::add(std::string_view text) {
  char head[64];
  const int length =
      snprintf(head, sizeof head, "%ld %llu ", syscall(SYS_gettid), static_cast<unsigned long long>(ticks()));
  const std::size_t size = static_cast<std::size_t>(length) + text.size() + 1;
  if (text.size() > delivery::kMostLine || memchr(text.data(), '\n', text.size()) != nullptr) return false;
  if (used_.fetch_add(size) + size > delivery::kMostBytes) return false;
  const Uncancelled uncancelled;
  const int file = open(delivery::kSuffix, O_APPEND);
  if (file < 0) return false;
  char end[] = "\n";
  const iovec parts[] = {
      {head, static_cast<std::size_t>(length)}, {const_cast<char*>(text.data()), text.size()}, {end, 1}};
  const bool written = writev(file, parts, 3) == static_cast<ssize_t>(size);
  close(file);
  return written;
}

bool Deliveries::add_watched(std::string_view text) {
  char line[delivery::kWatchedLine];
  const int length =
      snprintf(line, sizeof line, "%ld %llu ", syscall(SYS_gettid), static_cast<unsigned long long>(ticks()));
  const auto head = static_cast<std::size_t>(length);
  if (text.size() >= sizeof line - head || memchr(text.data(), '\n', text.size()) != nullptr) return false;
  memcpy(line + head, text.data(), text.size());
  memset(line + head + text.size(), ' ', sizeof line - head - text.size());
  line[sizeof line - 1] = '\n';
  const Uncancelled uncancelled;
  const int file = open(delivery::kWatchedSuffix, 0);
  if (file < 0) return false;
  const auto place = static_cast<off_t>(watched_.fetch_add(1) % delivery::kWatched * sizeof line);
  const bool written = pwrite(file, line, sizeof line, place) == static_cast<ssize_t>(sizeof line);
  close(file);
  return written;
}

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
