#include "symbolize/user_code.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "session/user_or_library.h"

namespace cudadiag::symbolize {

namespace {

using session::is_cuda_module;
using session::is_foreign_function_interface;

using Texts = std::initializer_list<std::string_view>;

bool contains_any(std::string_view text, Texts parts) {
  return std::ranges::any_of(parts, [&](auto part) { return text.find(part) != text.npos; });
}

std::string_view unqualified(std::string_view function) { return function.substr(0, function.find('(')); }

// Recognises nvcc's stubs: `__device_stub__Z4fillPii` for the kernel `_Z4fillPii`, and `__wrapper__device_stub_scale`,
// which calls the stub of a template.
bool is_device_stub(const NativeFrame& frame) {
  return contains_any(unqualified(frame.function), {"__device_stub_", "__cudaLaunchKernel_helper"}) ||
         contains_any(frame.mangled, {"__device_stub_"}) || frame.file.ends_with(".cudafe1.stub.c");
}

std::string_view kernel_of_stub(const NativeFrame& frame) {
  constexpr std::string_view kPrefix = "__device_stub_";
  const std::string_view name = unqualified(frame.function);
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : std::string_view{};
}

// Returns `kernel` if the CUDA runtime launched it, otherwise "". nvcc's host function is on the stack only in a
// runtime launch. A program that calls the driver may have its own function with the kernel's name.
std::string_view name_of_host_side(const std::vector<NativeFrame>& native, std::string_view kernel) {
  const bool by_runtime = std::ranges::any_of(native, [](const NativeFrame& frame) {
    return is_device_stub(frame) || contains_any(unqualified(frame.function), {"cudaLaunch"}) ||
           contains_any(frame.module, {"/libcudart"});
  });
  return by_runtime ? kernel : std::string_view{};
}

// Compares demangled names, because a `static` kernel is `_Z4fillPi` on the device and `_ZL4fillPi` on the host.
bool is_host_side_of(const NativeFrame& frame, std::string_view kernel) {
  if (kernel.empty() || frame.mangled.empty()) return false;
  return frame.mangled == kernel ||
         (kernel.starts_with("_Z") && base::demangle(frame.mangled) == base::demangle(kernel));
}

// Returns `scale` for `void n::scale<float>(float*, float)` and for `n::scale<float>`.
std::string_view bare_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const auto at = function.rfind(kAnonymous); at != function.npos) function.remove_prefix(at + kAnonymous.size());
  const std::string_view name = function.substr(0, function.find_first_of("(<"));
  return name.substr(name.find_last_of(": ") + 1);
}

// Returns `n::scale` for `void n::scale<float>(float*, float)`.
std::string_view qualified_name(std::string_view function) {
  const std::string_view name = function.substr(0, function.find_first_of("(<"));
  return name.substr(name.find_last_of(' ') + 1);
}

// Compares demangled names, for functions whose mangled names do not match. An inlined file-local function has no
// mangled name. If a kernel receives a lambda, the host name has the type of nvcc's wrapper in place of the lambda's
// type. Use this only for the stub's caller. A user function with the same bare name that launches the kernel is one
// frame further out.
bool is_host_side_by_bare_name(const NativeFrame& frame, std::string_view kernel) {
  if (kernel.empty()) return false;
  const std::string name = base::demangle(kernel);
  const bool has_lambda = contains_any(frame.mangled, {"__nv_dl_wrapper_t", "__nv_hdl_wrapper_t"});
  if (has_lambda) return qualified_name(frame.function) == qualified_name(name);
  return frame.inlined && frame.mangled.empty() && bare_name(frame.function) == bare_name(name);
}

bool is_name_of_cuda(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  for (const std::string_view prefix : {"cuda", "cu"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size() &&
        std::isupper(static_cast<unsigned char>(name[prefix.size()]))) {
      return true;
    }
  }
  return false;
}

// Recognises a function template of CUDA's headers that was built without line information, such as
// cudaLaunchKernel<char>().
bool is_cuda_template(const NativeFrame& frame) {
  const std::string_view name = unqualified(frame.function);
  return name.find('<') != name.npos && name.find("::") == name.npos && is_name_of_cuda(bare_name(name));
}

// Recognises an entry point of CUDA, or a function of a statically linked CUDA library. NVIDIA ships them without line
// information and with C names: `cudaMemcpy`, `__cudaLaunchKernel_ptsz`, `libcudart_static_cd7c…`, `cublasSgemm_v2`.
bool is_cuda_function(const NativeFrame& frame) {
  if (!frame.file.empty()) return false;
  if (frame.mangled.starts_with("_Z")) return is_cuda_template(frame);
  constexpr std::string_view kLibraries[] = {"libcudart_static_", "cublas",   "cudnn", "cufft", "curand",
                                             "cusolver",          "cusparse", "nccl"};
  const std::string_view name = frame.function;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return is_name_of_cuda(name) || std::ranges::any_of(kLibraries, begins);
}

// Counts the innermost frames that belong to CUDA and the recorder, up to the API function that the program called.
// With a static runtime, also counts the nameless functions that the API function called.
std::size_t frames_inside_cuda(const std::vector<NativeFrame>& native, const UserCode& code) {
  std::size_t inside = 0;
  while (inside < native.size() && !code.module(native[inside].module)) ++inside;
  for (std::size_t i = inside; i < native.size(); ++i) {
    const NativeFrame& frame = native[i];
    if (!frame.file.empty() || frame.module != native[inside].module) break;
    if (is_cuda_function(frame)) inside = i + 1;
  }
  return inside;
}

bool is_user_native(const NativeFrame& frame, const UserCode& code) {
  // _start is in the user's executable, but it is start-up code that the compiler added.
  return code.native(frame) && !is_device_stub(frame) && !is_cuda_function(frame) && frame.function != "_start";
}

void mark_native(std::vector<NativeFrame>& native, std::string_view launched, const UserCode& code) {
  const std::size_t inside = frames_inside_cuda(native, code);
  launched = name_of_host_side(native, launched);
  std::string kernel(launched);
  bool below_is_stub = false;
  for (std::size_t i = 0; i < native.size(); ++i) {
    NativeFrame& frame = native[i];
    if (const auto stubbed = kernel_of_stub(frame); !stubbed.empty()) kernel = stubbed;
    const bool host_side =
        is_host_side_of(frame, kernel) || is_host_side_of(frame, launched) ||
        (below_is_stub && (is_host_side_by_bare_name(frame, kernel) || is_host_side_by_bare_name(frame, launched)));
    const bool installed = frame.file.empty() && code.is_installed(frame.module);
    frame.user = i >= inside && is_user_native(frame, code) && !host_side && !installed;
    below_is_stub = is_device_stub(frame);
  }
}

Location location_of(const PythonFrame& frame) {
  return {frame.file, frame.function, Language::python, "", "", frame.line};
}

Location location_of(const NativeFrame& frame) {
  const bool has_line = frame.line > 0;
  Location location{frame.file, frame.function, Language::cplusplus, "", has_line ? "" : frame.module, frame.line};
  if (!has_line && frame.function.empty()) location.offset = frame.offset;
  location.folded = frame.folded;
  return location;
}

template <typename Frames, typename Condition>
auto first_where(const Frames& frames, Condition condition) {
  const auto found = std::ranges::find_if(frames, condition);
  return found == frames.end() ? nullptr : &*found;
}

// For a stack without a user frame: returns the innermost known frame that is outside CUDA, and outside libraries that
// only forward calls to CUDA.
Location innermost_known(const SourceStack& stack, std::string_view kernel) {
  const auto* native = first_where(stack.native, [&](const NativeFrame& frame) {
    return frame.line > 0 && !is_cuda_module(frame.module) && !is_foreign_function_interface(frame.module) &&
           !is_device_stub(frame) && !is_host_side_of(frame, kernel);
  });
  if (native) return location_of(*native);
  const auto* python = first_where(stack.python, [](const PythonFrame& frame) { return frame.line > 0; });
  if (python) return location_of(*python);
  native = first_where(stack.native, [](const NativeFrame& frame) {
    return !frame.function.empty() && !is_cuda_module(frame.module) && !is_cuda_function(frame);
  });
  return native ? location_of(*native) : Location{};
}

}  // namespace

bool is_launch_code(const NativeFrame& frame, std::string_view kernel) {
  return is_device_stub(frame) || is_host_side_of(frame, kernel);
}

LaunchFrames launch_frames(const std::vector<NativeFrame>& native, std::string_view launched, const UserCode& code) {
  LaunchFrames launch{frames_inside_cuda(native, code), std::string(name_of_host_side(native, launched))};
  for (; launch.count < native.size() && is_launch_code(native[launch.count], launch.kernel); ++launch.count) {
    if (const auto stubbed = kernel_of_stub(native[launch.count]); !stubbed.empty()) launch.kernel = stubbed;
  }
  return launch;
}

UserCode::UserCode(std::vector<session::CodeRule> rules, std::vector<std::string> interpreters)
    : rules_(std::move(rules)), interpreters_(std::move(interpreters)) {}

const session::CodeRule* UserCode::rule_for(std::string_view path) const {
  const session::CodeRule* found = nullptr;
  for (const session::CodeRule& rule : rules_) {
    const bool holds =
        path == rule.path || (path.starts_with(rule.path) && path.substr(rule.path.size()).starts_with('/'));
    if (holds && (found == nullptr || rule.path.size() >= found->path.size())) found = &rule;
  }
  return found;
}

bool UserCode::python(std::string_view file) const {
  const session::CodeRule* rule = rule_for(file);
  return rule != nullptr ? rule->user : session::is_python_file_of_users(file);
}

bool UserCode::python(const PythonFrame& frame) const {
  if (rule_for(frame.file) == nullptr && is_entry_point(frame)) return false;
  return python(frame.file);
}

bool UserCode::made_at_run_time(const PythonFrame& frame) const {
  return session::is_made_at_run_time(frame.file) && rule_for(frame.file) == nullptr;
}

// Recognises a script that an installer wrote to start a package, such as `bin/train`. It only calls the package's
// main().
bool UserCode::is_entry_point(const PythonFrame& frame) const {
  constexpr int kLongest = 16;
  const std::filesystem::path file(frame.file);
  if (frame.function != "<module>" || frame.line > kLongest || file.has_extension()) return false;
  const std::string folder = file.parent_path().string();
  return folder.ends_with("/.local/bin") || std::ranges::find(interpreters_, folder) != interpreters_.end();
}

bool UserCode::is_installed(std::string_view module) const {
  if (rule_for(module) != nullptr) return false;
  if (module.starts_with("/usr/local/lib/") || module.starts_with("/usr/local/lib64/")) return true;
  return std::ranges::any_of(interpreters_, [&](const std::string& folder) {
    return module.starts_with(std::filesystem::path(folder).parent_path().string() + "/lib/");
  });
}

bool UserCode::module(std::string_view path) const {
  if (path.empty() || is_cuda_module(path) || session::is_interpreter(path)) return false;
  const session::CodeRule* rule = rule_for(path);
  return rule != nullptr ? rule->user : session::is_module_of_users(path);
}

bool UserCode::native(const NativeFrame& frame) const {
  if (!frame.file.empty() && !is_cuda_module(frame.module)) {
    if (const session::CodeRule* rule = rule_for(frame.file)) return rule->user;
  }
  return module(frame.module) && !session::is_library_source(frame.file);
}

void mark_user_frames(SourceStack& stack, std::string_view kernel, const UserCode& code) {
  const bool in_cell_magic = std::ranges::any_of(
      stack.python, [](const PythonFrame& frame) { return frame.function.ends_with("run_cell_magic"); });
  for (PythonFrame& frame : stack.python) {
    frame.user = code.python(frame) || (in_cell_magic && is_cell_of_magic(frame.file));
  }
  // Code generated at run time may come from a library or from `python -c`. It counts as user code only if no other
  // frame does.
  const bool others = std::ranges::any_of(
      stack.python, [&](const PythonFrame& frame) { return frame.user && !code.made_at_run_time(frame); });
  for (PythonFrame& frame : stack.python) frame.user = frame.user && !(others && code.made_at_run_time(frame));
  mark_native(stack.native, kernel, code);
}

TrueLine find_true_line(const SourceStack& stack, std::string_view launched) {
  const std::string_view kernel = name_of_host_side(stack.native, launched);
  const auto is_users = [&](const NativeFrame& frame) { return frame.user && !is_host_side_of(frame, kernel); };
  const auto* native = first_where(stack.native, is_users);
  const auto* python = first_where(stack.python, [](const PythonFrame& frame) { return frame.user; });
  const auto has_line = [&](const NativeFrame& frame) { return is_users(frame) && frame.line > 0; };
  const auto* outer = first_where(stack.native, has_line);
  // No native user frame has a line, so use the Python line that called the library.
  const bool by_library = native && native->file.empty() && !outer && python;
  if (native && !by_library) {
    TrueLine line{location_of(*native), python ? location_of(*python) : Location{}, true, native->tail_call};
    if (native->line > 0) return line;
    if (outer) line.location.called_from = {location_of(*outer)};
    if (!outer && line.caller.known()) line.location.called_from = {line.caller};
    return line;
  }
  if (python) return {location_of(*python), {}, true, false};
  return {innermost_known(stack, kernel), {}, false, false};
}

namespace {

constexpr std::string_view kInput = "<ipython-input-";
constexpr std::string_view kCellFiles[] = {"/ipykernel_", "/ipython-input-", "/__marimo__cell_"};

std::string_view archive_in(std::string_view file) {
  for (const std::string_view suffix : {".zip/", ".pyz/", ".egg/", ".whl/", ".par/", ".pex/"}) {
    if (const auto at = file.find(suffix); at != file.npos) return file.substr(0, at + suffix.size() - 1);
  }
  return {};
}

}  // namespace

bool is_cell_of_magic(std::string_view file) {
  return file == "<timed exec>" || file == "<timed eval>" || file == "<magic-timeit>";
}

std::string cell_name(std::string_view file) {
  if (file.starts_with(kInput)) {
    const auto number = file.substr(kInput.size());
    return "cell In[" + std::string(number.substr(0, number.find_first_not_of("0123456789"))) + "]";
  }
  for (const std::string_view part : kCellFiles) {
    if (const auto at = file.rfind(part); at != file.npos) return "cell " + std::string(file.substr(at + 1));
  }
  return "";
}

std::string why_no_source(std::string_view file) {
  if (!cell_name(file).empty()) return "a notebook cell, whose text is not on disk";
  if (is_cell_of_magic(file)) return "a notebook cell that begins with a magic command; its text is not on disk";
  if (file == "<string>" || file == "<timeit-src>") return "code from a string or from python -c";
  for (const std::string_view typed : {"<stdin>", "<console>", "<input>", "<python-input-"}) {
    if (file.starts_with(typed)) return "code that was read from standard input";
  }
  if (const auto archive = archive_in(file); !archive.empty()) return "code inside " + std::string(archive);
  return "";
}

}  // namespace cudadiag::symbolize
