#include "symbolize/symbolizer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "session/user_or_library.h"
#include "symbolize/elf_module.h"
#include "symbolize/user_code.h"

namespace cudadiag::symbolize {

namespace {

// ---- frames that are not on the stack, because their functions ended in a tail call
//
// For example, a function that only launches a kernel jumps to nvcc's stub. The stub then returns directly to the
// function's caller. DWARF's call sites describe these jumps.

// A frame that is on the stack, and the functions that the compiler inlined there.
struct PhysicalFrame {
  ElfModule* module = nullptr;
  std::uint64_t address = 0;  // return address, relative to the load bias
  std::vector<NativeFrame> frames;
};

// Opens modules and returns them. Called only if needed.
using Modules = std::function<std::vector<ElfModule*>()>;

// The module and the function in which a chain of tail calls starts. `function` is kNotKnown if the call went through a
// pointer.
struct Start {
  ElfModule* module = nullptr;
  TailCalls::Function function = TailCalls::kNotKnown;
};

// Returns the module that defines `name`, preferring `first`. Returns a null module if several of `others` define it,
// because we did not record which one the dynamic linker chose.
Start definition_of(const std::string& name, const std::vector<ElfModule*>& first, const Modules& others) {
  const auto in = [&](ElfModule* module) -> Start {
    const TailCalls& calls = module->tail_calls();
    const auto function = calls.function_named(name);
    return function != TailCalls::kNotKnown && calls.defines(function) ? Start{module, function} : Start{};
  };
  for (ElfModule* module : first) {
    if (const Start start = in(module); start.module) return start;
  }
  Start only;
  for (ElfModule* module : others()) {
    const Start start = in(module);
    if (start.module && only.module && only.module != start.module) return {};
    if (start.module) only = start;
  }
  return only;
}

// Returns true if the indirect call in `outer` must have reached a user's function, not `inner` itself. This is certain
// for nvcc's stubs, which programs never call through pointers. It is also certain if `outer` is a foreign-function
// interface, which finds only exported functions: a static CUDA runtime exports none.
bool calls_users_function(const PhysicalFrame& inner, const PhysicalFrame& outer, bool described,
                          std::string_view kernel) {
  if (outer.module == inner.module && !described) return false;  // possibly a direct call to `inner`
  return is_launch_code(inner.frames.back(), kernel) || session::is_foreign_function_interface(outer.module->path());
}

std::optional<Start> start_of_chain(const PhysicalFrame& inner, const PhysicalFrame& outer, std::string_view kernel,
                                    const Modules& others) {
  const TailCalls& calls = outer.module->tail_calls();
  const auto called = calls.called_at(outer.address);
  const bool by_pointer = !called || *called == TailCalls::kNotKnown;
  if (by_pointer && calls_users_function(inner, outer, called.has_value(), kernel)) return Start{inner.module};
  if (by_pointer && !session::is_c_library(outer.module->path())) return std::nullopt;
  if (!by_pointer && calls.defines(*called)) return Start{outer.module, *called};
  const std::string name = by_pointer ? "main" : calls.name(*called);
  if (name == inner.frames.back().mangled) return std::nullopt;
  const Start start = definition_of(name, {inner.module}, others);
  return start.module ? std::optional(start) : std::nullopt;
}

TailCalls::Function function_of(const PhysicalFrame& inner, ElfModule& seen_from) {
  const TailCalls& calls = seen_from.tail_calls();
  const auto function = &seen_from == inner.module ? calls.function_at(inner.address - 1) : TailCalls::kNotKnown;
  return function != TailCalls::kNotKnown ? function : calls.function_named(inner.frames.back().mangled);
}

// Returns the frames that tail calls removed between two frames, innermost first. `inner` is the outermost frame of
// CUDA or of nvcc's launch code for `kernel`. `outer` is the next outer frame on the stack. `others` are the modules to
// search for functions that neither module defines.
std::vector<PhysicalFrame> lost_to_tail_calls(const PhysicalFrame& inner, const PhysicalFrame& outer,
                                              std::string_view kernel, const Modules& others) {
  if (!inner.module || !outer.module) return {};
  const auto start = start_of_chain(inner, outer, kernel, others);
  if (!start) return {};
  const auto to = function_of(inner, *start->module);
  if (to == TailCalls::kNotKnown || to == start->function) return {};
  const auto is_users = [&](std::uint64_t entry) {
    return !is_launch_code(start->module->frames(entry).back(), kernel);
  };
  std::vector<PhysicalFrame> lost;
  for (const std::uint64_t jump : start->module->tail_calls().between(start->function, to, is_users)) {
    lost.push_back({start->module, jump + 1, start->module->frames(jump)});
    for (NativeFrame& frame : lost.back().frames) frame.tail_call = true;
  }
  return lost;
}

// Returns the interpreters' folders, both with and without links resolved, because these differ in a virtual
// environment.
std::vector<std::string> interpreters(const session::Session& session) {
  std::vector<std::string> folders;
  for (const session::Process& process : session.processes) {
    const std::string& exe = session::value_of(process.record, session::Property::exe);
    for (const std::string& path : {process.argv.empty() ? std::string() : process.argv.front(), exe}) {
      if (session::is_interpreter(path)) folders.push_back(std::filesystem::path(path).parent_path().string());
    }
  }
  return folders;
}

}  // namespace

struct Symbolizer::State {
  explicit State(const session::Session& recorded) : code(recorded.manifest.code_rules, interpreters(recorded)) {}

  using ModuleKey = std::pair<std::string, std::string>;  // path, build-id
  using StackKey = std::tuple<const session::Process*, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<ModuleKey, ElfModule> modules;
  std::map<std::pair<ElfModule*, std::uint64_t>, std::vector<NativeFrame>> frames;
  std::map<StackKey, SourceStack> stacks;
  std::vector<std::string> notes;
  UserCode code;

  ElfModule& module(const session::ProcessRecord& record, const session::Module& recorded);
  const std::vector<NativeFrame>& frames_at(ElfModule& module, std::uint64_t address);
  // Returns the frames of a stack, innermost first. Stops at the innermost frame of the interpreter, which becomes the
  // last element, with empty `frames`.
  std::vector<PhysicalFrame> physical_frames(const session::ProcessRecord& record, std::uint32_t stack);
  std::vector<ElfModule*> user_modules(const session::ProcessRecord& record);
  std::vector<NativeFrame> native_frames(const session::ProcessRecord& record, std::uint32_t stack,
                                         std::string_view launched);
  SourceStack resolve(const session::ProcessRecord& record, const session::Site& site);
  void note(std::string text);
  std::string why_unknown(const std::string& module);
  bool has_lines(const std::string& module);
  std::string missing_file(const std::string& module);
  void note_unknown(const std::string& module);
  void note_missing_lines(const SourceStack& stack);
  void note_foreign_thread(const session::ProcessRecord& record, const SourceStack& stack);
};

namespace {

std::vector<PythonFrame> python_frames(const session::ProcessRecord& record, std::uint32_t stack) {
  std::vector<PythonFrame> frames;
  const auto* raw = session::by_id(record.python_stacks, stack);
  if (!raw) return frames;
  for (const session::RawPythonFrame& frame : raw->frames) {
    const session::Code* code = session::by_id(record.codes, frame.code);
    if (!code) continue;
    frames.push_back({absolute_file(code->file, record), python_line(*code, frame.offset), code->qualified_name});
  }
  return frames;
}

}  // namespace

// Without a build-id, the file's modification time shows whether it was rebuilt after the run.
ElfModule& Symbolizer::State::module(const session::ProcessRecord& record, const session::Module& recorded) {
  const bool later = recorded.build_id.empty() && written_since_end(recorded.path, record);
  const std::string id = later ? "of another build" : recorded.build_id;
  const auto [entry, is_new] = modules.try_emplace({recorded.path, id}, recorded.path, id);
  if (is_new && entry->second.condition() == ElfModule::Condition::changed) note_unknown(recorded.path);
  return entry->second;
}

const std::vector<NativeFrame>& Symbolizer::State::frames_at(ElfModule& module, std::uint64_t address) {
  const auto [entry, is_new] = frames.try_emplace({&module, address});
  if (is_new) entry->second = module.frames(address);
  return entry->second;
}

std::vector<PhysicalFrame> Symbolizer::State::physical_frames(const session::ProcessRecord& record,
                                                              std::uint32_t stack) {
  std::vector<PhysicalFrame> physical;
  const auto* raw = session::by_id(record.native_stacks, stack);
  if (!raw) return physical;
  for (const session::RawNativeFrame& frame : raw->frames) {
    const session::Module* recorded = session::by_id(record.modules, frame.module);
    if (!recorded) {
      physical.push_back({nullptr, frame.address, {NativeFrame{}}});
      continue;
    }
    // With hooks, the innermost frames are those of a wrapper, which say nothing about the program.
    if (physical.empty() && session::is_recorder(recorded->path)) continue;
    ElfModule& elf = module(record, *recorded);
    if (session::is_interpreter(recorded->path)) {
      physical.push_back({&elf, frame.address, {}});
      break;
    }
    // Look up `address` - 1, which is inside the call. The return address may be on the next line or, if the call never
    // returns, in the next function.
    physical.push_back({&elf, frame.address, frames_at(elf, frame.address - 1)});
  }
  return physical;
}

std::string Symbolizer::variable(const session::Process& process, std::uint32_t site, std::uint32_t frame,
                                 std::uint64_t below) {
  const session::ProcessRecord& record = process.record;
  const session::Site* at = session::by_id(record.sites, site);
  const auto* stack = at == nullptr ? nullptr : session::by_id(record.native_stacks, at->native);
  if (stack == nullptr || frame == 0 || frame > stack->frames.size()) return "";
  const session::RawNativeFrame& raw = stack->frames[frame - 1];
  const session::Module* module = session::by_id(record.modules, raw.module);
  return module == nullptr ? "" : state_->module(record, *module).variable(raw.address - 1, below);
}

std::vector<ElfModule*> Symbolizer::State::user_modules(const session::ProcessRecord& record) {
  std::vector<ElfModule*> users;
  for (const session::Module& recorded : record.modules) {
    if (code.module(recorded.path)) users.push_back(&module(record, recorded));
  }
  return users;
}

std::vector<NativeFrame> Symbolizer::State::native_frames(const session::ProcessRecord& record, std::uint32_t stack,
                                                          std::string_view launched) {
  const auto physical = physical_frames(record, stack);
  std::vector<NativeFrame> native;
  std::vector<std::size_t> owner;  // for each frame, the index of its physical frame
  for (std::size_t i = 0; i < physical.size(); ++i) {
    native.insert(native.end(), physical[i].frames.begin(), physical[i].frames.end());
    owner.resize(native.size(), i);
  }
  const auto [inside, kernel] = launch_frames(native, launched, code);
  if (inside == 0 || (inside < native.size() && owner[inside - 1] == owner[inside])) return native;
  const std::size_t inner = owner[inside - 1], outer = inner + 1;
  if (outer == physical.size()) return native;
  auto at = native.begin() + static_cast<std::ptrdiff_t>(inside);
  for (const PhysicalFrame& lost :
       lost_to_tail_calls(physical[inner], physical[outer], kernel, [&] { return user_modules(record); })) {
    at = native.insert(at, lost.frames.begin(), lost.frames.end()) + static_cast<std::ptrdiff_t>(lost.frames.size());
  }
  return native;
}

SourceStack Symbolizer::State::resolve(const session::ProcessRecord& record, const session::Site& site) {
  const std::string* known = session::by_id(record.functions, site.function);
  const std::string_view kernel = known ? std::string_view(*known) : std::string_view{};
  SourceStack stack{python_frames(record, site.python), native_frames(record, site.native, kernel)};
  mark_user_frames(stack, kernel, code);
  note_missing_lines(stack);
  note_foreign_thread(record, stack);
  return stack;
}

void Symbolizer::State::note(std::string text) {
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

std::string Symbolizer::State::why_unknown(const std::string& module) {
  for (auto& [key, elf] : modules) {
    if (key.first != module || elf.condition() == ElfModule::Condition::readable) continue;
    if (elf.condition() == ElfModule::Condition::changed) return "has been rebuilt since the run";
    std::error_code error;
    return std::filesystem::exists(module, error) ? "cannot be read" : "has been removed since the run";
  }
  return "";
}

bool Symbolizer::State::has_lines(const std::string& module) {
  return std::ranges::any_of(modules,
                             [&](auto& entry) { return entry.first.first == module && entry.second.has_lines(); });
}

std::string Symbolizer::State::missing_file(const std::string& module) {
  for (auto& [key, elf] : modules) {
    if (key.first == module && !elf.missing_file().empty()) return elf.missing_file();
  }
  return "";
}

void Symbolizer::State::note_unknown(const std::string& module) {
  note(module + " " + why_unknown(module) + ": its functions and lines are unknown");
}

// Looks only at the user's innermost module, because rebuilding another module would not help.
void Symbolizer::State::note_missing_lines(const SourceStack& stack) {
  const auto frame = std::ranges::find_if(stack.native, [](const auto& f) { return f.user; });
  if (frame == stack.native.end()) return;
  for (auto& [key, elf] : modules) {
    if (key.first != frame->module) continue;
    if (const std::string missing = elf.missing_file(); !missing.empty()) {
      note(missing + " was not found: it describes the functions inlined into code of " + frame->module +
           ", so these functions are unknown");
    }
    if (frame->line > 0) continue;
    if (elf.condition() == ElfModule::Condition::missing) note_unknown(frame->module);
    if (elf.condition() != ElfModule::Condition::readable || elf.has_lines()) continue;
    note(frame->module + " has no line information: build it with -g to see its lines");
  }
}

// JAX launches on threads of its runtime, so the stack does not contain the Python line that dispatched the operation.
void Symbolizer::State::note_foreign_thread(const session::ProcessRecord& record, const SourceStack& stack) {
  if (!stack.python.empty() || !session::has(record, session::Property::python)) return;
  const bool by_jax = std::ranges::any_of(stack.native, [](const NativeFrame& frame) {
    return frame.module.find("/jaxlib/") != std::string::npos ||
           frame.module.find("/jax_plugins/") != std::string::npos;
  });
  if (by_jax) note("one of JAX's own threads launched the operation: the Python line that dispatched it is unknown");
}

Symbolizer::Symbolizer(const session::Session& session) : state_(std::make_unique<State>(session)) {}
Symbolizer::~Symbolizer() = default;

SourceStack Symbolizer::stack(const session::Process& process, const session::Site& site) {
  const State::StackKey key{&process, site.python, site.native, site.function};
  const auto [entry, is_new] = state_->stacks.try_emplace(key);
  if (is_new) entry->second = state_->resolve(process.record, site);
  return entry->second;
}

SourceStack Symbolizer::stack(const session::Process& process,
                              const std::vector<session::DeliveredFrame>& frames) const {
  SourceStack stack;
  for (const session::DeliveredFrame& frame : frames) {
    stack.python.push_back({absolute_file(frame.file, process.record), frame.line, frame.function});
  }
  mark_user_frames(stack, "", state_->code);
  return stack;
}

TrueLine Symbolizer::true_line(const SourceStack& stack, std::string_view kernel) const {
  return find_true_line(stack, kernel);
}

std::string Symbolizer::why_unknown(const std::string& module) const { return state_->why_unknown(module); }

bool Symbolizer::lacks_line_information(const Location& location) const {
  return location.line == 0 && !location.module.empty() && location.file.empty() && !location.folded &&
         why_unknown(location.module).empty() && state_->missing_file(location.module).empty();
}

std::string Symbolizer::why_no_line(const Location& location) const {
  if (location.line > 0 || location.module.empty()) return "";
  const std::string name = std::filesystem::path(location.module).filename().string();
  if (lacks_line_information(location)) {
    return (state_->has_lines(location.module) ? "that part of " : "") + name + " has no line information";
  }
  if (const std::string why = why_unknown(location.module); !why.empty()) {
    return name + " " + why + ": its functions and lines are unknown";
  }
  if (!location.file.empty()) return "the compiler recorded no line for this call";
  if (const std::string missing = state_->missing_file(location.module); !missing.empty()) {
    return std::filesystem::path(missing).filename().string() +
           ", which describes the functions inlined there, was not found";
  }
  return "the linker folded functions with identical code into one";
}

const std::vector<std::string>& Symbolizer::notes() const { return state_->notes; }

}  // namespace cudadiag::symbolize
