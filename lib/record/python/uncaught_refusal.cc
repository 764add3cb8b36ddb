#include "record/python/uncaught_refusal.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "record/python/python_api.h"
#include "record/this_thread.h"

namespace cudadiag::record::uncaught_refusal {
namespace {

constexpr std::size_t kMostFrames = 128;
constexpr int kLongestChain = 8;  // limit for the length of a chain of exceptions
constexpr std::size_t kLongestMessage = 300;

PythonApi g_python;
std::atomic<Found> g_found = nullptr;
// whether a pending call is requested, or the atexit function is registered
std::atomic<bool> g_asked = false;
std::atomic<std::uint64_t> g_libraries = 0;  // loaded_libraries() when look() ran last

// Returns how many libraries the process has loaded so far. Importing CuPy or JAX increases the number.
std::uint64_t loaded_libraries() {
  std::uint64_t loaded = 0;
  const auto count = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<std::uint64_t*>(to) = info->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(count, &loaded);
  return loaded;
}

// Holds an attribute of an object, or null if the object lacks it. Never leaves an exception set.
class Attribute {
 public:
  Attribute(PyObject* object, const char* name)
      : value_(object == nullptr ? nullptr : g_python.attribute(object, name)) {
    if (value_ == nullptr) g_python.clear_error();
  }
  ~Attribute() {
    if (value_ != nullptr) g_python.drop(value_);
  }
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;
  Attribute& operator=(Attribute&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  PyObject* get() const { return value_; }
  bool is_none() const { return value_ == nullptr || value_ == g_python.none; }
  // Empty if the value is not a string. The text is valid as long as this object exists.
  std::string_view text() const { return text_of(value_); }

  static std::string_view text_of(PyObject* string) {
    ssize_t size = 0;
    const char* data = string == nullptr ? nullptr : g_python.utf8(string, &size);
    if (data == nullptr) g_python.clear_error();
    return data == nullptr ? std::string_view() : std::string_view(data, static_cast<std::size_t>(size));
  }

 private:
  PyObject* value_;
};

// Reads the innermost frames of a traceback. The traceback keeps their code objects alive.
class Traceback {
 public:
  explicit Traceback(PyObject* error) {
    Attribute entry(error, "__traceback__");
    while (!entry.is_none()) {
      const Attribute frame(entry.get(), "tb_frame");
      const Attribute code(frame.get(), "f_code"), offset(entry.get(), "tb_lasti");
      if (code.get() == nullptr || offset.get() == nullptr) break;
      ring_[count_++ % kMostFrames] = {code.get(), static_cast<std::int32_t>(g_python.as_long(offset.get()))};
      entry = Attribute(entry.get(), "tb_next");
    }
    for (std::size_t i = 0; i < std::min(count_, kMostFrames); ++i) frames_[i] = ring_[(count_ - 1 - i) % kMostFrames];
  }
  std::span<const TracedFrame> frames() const { return {frames_.data(), std::min(count_, kMostFrames)}; }

 private:
  std::array<TracedFrame, kMostFrames> ring_, frames_;
  std::size_t count_ = 0;
};

// Reports the exception if it is a refusal. Returns false if it is not.
bool report(PyObject* error) {
  const Attribute type(error, "__class__");
  const Attribute module(type.get(), "__module__"), name(type.get(), "__name__");
  const Refuser refuser = refuser_of(module.text(), name.text());
  if (refuser == Refuser::none) return false;  // computing the text of any other exception may run the program's code
  PyObject* text = g_python.text_of(error);
  if (text == nullptr) return g_python.clear_error(), false;
  const std::string_view message = Attribute::text_of(text);
  const RefusedRequest request = refused_request(refuser, message);
  if (request.pool != nullptr) {
    const Traceback traceback(error);
    const std::string_view line = message.substr(0, std::min(message.find('\n'), kLongestMessage));
    g_found.load(std::memory_order_acquire)({request, line, traceback.frames()});
  }
  g_python.drop(text);
  return request.pool != nullptr;
}

// Follows the chain of exceptions in the order in which the interpreter prints it.
void report_chain(PyObject* error, int length) {
  if (error == nullptr || length == kLongestChain || report(error)) return;
  const Attribute cause(error, "__cause__");
  if (!cause.is_none()) return report_chain(cause.get(), length + 1);
  const Attribute is_hidden(error, "__suppress_context__"), context(error, "__context__");
  if (is_hidden.get() != nullptr && g_python.is_true(is_hidden.get()) == 0 && !context.is_none()) {
    report_chain(context.get(), length + 1);
  }
}

PyObject* at_exit(PyObject*, PyObject*) {
  if (is_own_process()) {
    PyObject* last = g_python.system_object("last_exc");  // CPython 3.12 and later
    report_chain(last != nullptr ? last : g_python.system_object("last_value"), 0);
  }
  return g_python.new_bool(0);
}

// Returns null if the function was not registered; an exception may then be set.
PyObject* register_at_exit() {
  static PythonFunction function = {"cudadiag", at_exit, kPythonNoArguments, nullptr};
  PyObject* modules = g_python.modules();
  if (modules == nullptr) return nullptr;
  const bool may_refuse = g_python.item(modules, "cupy") != nullptr || g_python.item(modules, "jax") != nullptr;
  PyObject* at_exits = may_refuse ? g_python.item(modules, "atexit") : nullptr;
  if (at_exits == nullptr) return nullptr;
  const Attribute registering(at_exits, "register");
  PyObject* made = registering.get() == nullptr ? nullptr : g_python.new_function(&function, nullptr, nullptr);
  if (made == nullptr) return nullptr;
  PyObject* result = g_python.call(registering.get(), made, static_cast<PyObject*>(nullptr));
  g_python.drop(made);
  return result;
}

// Runs with the GIL, on the main thread, between two bytecode instructions of the program.
int run_pending(void*) {
  PyObject* registered =
      is_own_process() && g_python.interpreter() == g_python.main_interpreter() ? register_at_exit() : nullptr;
  g_asked.store(registered != nullptr, std::memory_order_release);
  if (registered != nullptr) return g_python.drop(registered), 0;
  // If the exception is not derived from Exception, a signal handler of the program may have raised it. The program
  // must receive it.
  if (g_python.error_occurred() != nullptr && g_python.error_matches(*g_python.exception) == 0) return -1;
  g_python.clear_error();
  return 0;
}

}  // namespace

void listen(Found found) {
  g_found.store(found, std::memory_order_release);
  look();
}

void look() {
  if (g_asked.load(std::memory_order_relaxed) || g_found.load(std::memory_order_acquire) == nullptr) return;
  const std::uint64_t libraries = loaded_libraries();
  if (g_libraries.exchange(libraries, std::memory_order_relaxed) == libraries) return;
  if (g_asked.exchange(true, std::memory_order_acq_rel)) return;
  const bool asked =
      g_python.load() && g_python.is_initialized() != 0 && g_python.add_pending_call(run_pending, nullptr) == 0;
  if (!asked) g_asked.store(false, std::memory_order_release);
}

}  // namespace cudadiag::record::uncaught_refusal
