#include "symbolize/tail_calls.h"

#include <optional>

#include "session/library_paths.h"
#include "symbolize/call_sites.h"
#include "symbolize/user_code.h"

namespace cudadiag::symbolize {
namespace {

// The module and the function in which a chain of tail calls starts. `function` is kNotKnown if the call went through a
// pointer.
struct Start {
  ElfModule* module = nullptr;
  CallSites::Function function = CallSites::kNotKnown;
};

// Returns the module that defines `name`, preferring `first`. Returns a null module if several of `others` define it,
// because we did not record which one the dynamic linker chose.
Start definition_of(const std::string& name, const std::vector<ElfModule*>& first, const Modules& others) {
  const auto in = [&](ElfModule* module) -> Start {
    const CallSites& sites = module->call_sites();
    const auto function = sites.function_named(name);
    return function != CallSites::kNotKnown && sites.defines(function) ? Start{module, function} : Start{};
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
  const CallSites& sites = outer.module->call_sites();
  const auto called = sites.called_at(outer.address);
  const bool by_pointer = !called || *called == CallSites::kNotKnown;
  if (by_pointer && calls_users_function(inner, outer, called.has_value(), kernel)) return Start{inner.module};
  if (by_pointer && !session::is_c_library(outer.module->path())) return std::nullopt;
  if (!by_pointer && sites.defines(*called)) return Start{outer.module, *called};
  const std::string name = by_pointer ? "main" : sites.name(*called);
  if (name == inner.frames.back().mangled) return std::nullopt;
  const Start start = definition_of(name, {inner.module}, others);
  return start.module ? std::optional(start) : std::nullopt;
}

CallSites::Function function_of(const PhysicalFrame& inner, ElfModule& seen_from) {
  const CallSites& sites = seen_from.call_sites();
  const auto function = &seen_from == inner.module ? sites.function_at(inner.address - 1) : CallSites::kNotKnown;
  return function != CallSites::kNotKnown ? function : sites.function_named(inner.frames.back().mangled);
}

}  // namespace

std::vector<PhysicalFrame> lost_to_tail_calls(const PhysicalFrame& inner, const PhysicalFrame& outer,
                                              std::string_view kernel, const Modules& others) {
  if (!inner.module || !outer.module) return {};
  const auto start = start_of_chain(inner, outer, kernel, others);
  if (!start) return {};
  const auto to = function_of(inner, *start->module);
  if (to == CallSites::kNotKnown || to == start->function) return {};
  const auto is_users = [&](std::uint64_t entry) {
    return !is_launch_code(start->module->frames(entry).back(), kernel);
  };
  std::vector<PhysicalFrame> lost;
  for (const std::uint64_t jump : start->module->call_sites().tail_calls(start->function, to, is_users)) {
    lost.push_back({start->module, jump + 1, start->module->frames(jump)});
    for (NativeFrame& frame : lost.back().frames) frame.tail_call = true;
  }
  return lost;
}

}  // namespace cudadiag::symbolize
