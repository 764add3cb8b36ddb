#include "record/python/refused_allocations.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <utility>

#include "record/hooks/redirection.h"
#include "record/python/hook_loader.h"
#include "record/stacks/symbols.h"
#include "record/this_thread.h"
#include "wire/error.h"

namespace cudadiag::record {

namespace uncaught_refusal {

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

}  // namespace uncaught_refusal

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a number such as "1,572,864,000" from the beginning of the text, and returns it.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  while (!text.empty() && (is_digit(text.front()) || text.front() == ',')) {
    if (text.front() != ',') number = number * 10 + static_cast<std::uint64_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  return number;
}

// Removes everything up to the end of `phrase`. Returns false if the text does not contain it.
bool skip_past(std::string_view& text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == text.npos) return false;
  text.remove_prefix(at + phrase.size());
  return true;
}

// Reads "34359738368 bytes", "32.00GiB" or "24.69GiB (26508001280B)".
std::uint64_t take_size(std::string_view text) {
  const std::uint64_t whole = take_number(text);
  std::uint64_t hundredths = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    for (std::uint64_t weight = 10; !text.empty() && is_digit(text.front()); weight /= 10, text.remove_prefix(1)) {
      hundredths += weight * static_cast<std::uint64_t>(text.front() - '0');
    }
  }
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  int shift = 0;
  for (int i = 0; i < 5; ++i) {
    if (text.starts_with(kUnits[i])) shift = 10 * (i + 1);
  }
  if (shift != 0) text.remove_prefix(kUnits[0].size());
  if (text.starts_with(" (") && text.size() > 2 && is_digit(text[2])) {
    text.remove_prefix(2);
    const std::uint64_t exact = take_number(text);
    if (text.starts_with("B)")) return exact;
  }
  return (whole << shift) + (hundredths << shift) / 100;
}

RefusedRequest of_cupy(std::string_view message) {
  if (!skip_past(message, "Out of memory allocating ")) return {};
  const std::uint64_t bytes = take_number(message);
  if (!skip_past(message, "allocated so far: ")) return {};
  const std::uint64_t held = take_number(message);
  if (!skip_past(message, "limit set to: ")) return {};
  const std::uint64_t limit = take_number(message);
  return held + bytes > limit ? RefusedRequest{wire::error::kCuPyPool, bytes} : RefusedRequest{};
}

RefusedRequest of_jax(std::string_view message) {
  if (!message.starts_with("RESOURCE_EXHAUSTED: ")) return {};
  for (const std::string_view phrase : {"Out of memory while trying to allocate ", "Failed to allocate request for "}) {
    std::string_view rest = message;
    if (!skip_past(rest, phrase)) continue;
    const std::uint64_t bytes = take_size(rest);
    return bytes == 0 ? RefusedRequest{} : RefusedRequest{wire::error::kJaxPool, bytes};
  }
  return {};
}

}  // namespace

Refuser refuser_of(std::string_view module, std::string_view type) {
  if (module == "cupy.cuda.memory" && type == "OutOfMemoryError") return Refuser::cupy;
  // Older versions of JAX raise jaxlib.xla_extension.XlaRuntimeError.
  const bool of_xla = type == "JaxRuntimeError" || type == "XlaRuntimeError";
  return of_xla && module.starts_with("jax") ? Refuser::jax : Refuser::none;
}

RefusedRequest refused_request(Refuser refuser, std::string_view message) {
  switch (refuser) {
    case Refuser::none:
      return {};
    case Refuser::cupy:
      return of_cupy(message);
    case Refuser::jax:
      return of_jax(message);
  }
  return {};
}

namespace caching_allocator {

namespace {

// void c10::reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, c10::Device)
constexpr const char* kReport = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";
// c10::Device has two bytes: the kind of device and its number.
using Report = void (*)(std::int64_t bytes, std::size_t allocated, std::size_t reserved, std::uint16_t device);

std::atomic<Report> g_report = nullptr;
std::atomic<Refused> g_refused = nullptr;
std::atomic<bool> g_found = false;
std::atomic<std::uint32_t> g_occasions = 0;

void report(std::int64_t bytes, std::size_t allocated, std::size_t reserved, std::uint16_t device) {
  g_refused.load(std::memory_order_acquire)(static_cast<std::uint64_t>(bytes));
  g_report.load(std::memory_order_acquire)(bytes, allocated, reserved, device);
}

}  // namespace

void listen(Refused refused) {
  g_refused.store(refused, std::memory_order_release);
  look();
}

void look() {
  if (g_found.load(std::memory_order_relaxed) || g_refused.load(std::memory_order_acquire) == nullptr) return;
  if (!std::has_single_bit(g_occasions.fetch_add(1, std::memory_order_relaxed) + 1)) return;
  LoadedLibrary allocator, base;
  LoadedModule module;
  if (!allocator.find("libc10_cuda.so", &module) || !base.find("libc10.so") || g_found.exchange(true)) return;
  const auto function = reinterpret_cast<Report>(base.function(kReport));
  if (function == nullptr) return;
  g_report.store(function, std::memory_order_release);
  redirect_calls(module, kReport, reinterpret_cast<void*>(report));
}

}  // namespace caching_allocator

}  // namespace cudadiag::record
