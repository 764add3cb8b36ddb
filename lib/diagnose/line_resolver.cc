#include "diagnose/line_resolver.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/text.h"

namespace cudadiag::diagnose {

ResolvedSite resolve(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                     std::uint32_t function) {
  ResolvedSite resolved;
  const session::Site* site = session::by_id(process.record.sites, site_id);
  if (function == 0 && site != nullptr) function = site->function;
  if (const std::string* name = session::by_id(process.record.functions, function)) resolved.mangled = *name;
  if (site == nullptr) return resolved;
  resolved.stack = symbolizer.stack(process, *site);
  resolved.line = symbolizer.true_line(resolved.stack, resolved.mangled);
  return resolved;
}

ResolveSite located_by(symbolize::Symbolizer& symbolizer) {
  return [&symbolizer](const session::Process& process, std::uint32_t site) {
    ResolvedSite resolved = resolve(symbolizer, process, site);
    return std::pair(located(resolved.line.location), std::move(resolved.stack));
  };
}

namespace {

using Line = std::pair<std::string, int>;

// Returns the user's lines on a stack, innermost first.
std::vector<Line> own_lines(const symbolize::SourceStack& stack) {
  std::vector<Line> lines;
  const auto add = [&](const auto& frame) {
    if (frame.user && frame.line > 0) lines.emplace_back(frame.file, frame.line);
  };
  std::ranges::for_each(stack.native, add);
  std::ranges::for_each(stack.python, add);
  return lines;
}

// Returns false if the site is certainly on another line. Needs no symbols of native code, which take time to read.
// `module` has the line, if it is one of native code.
bool may_be_on(const session::ProcessRecord& record, const session::Site& site, const Location& line,
               const std::string& module) {
  const auto* python = session::by_id(record.python_stacks, site.python);
  const auto* native = session::by_id(record.native_stacks, site.native);
  if (!module.empty()) {
    return native != nullptr && std::ranges::any_of(native->frames, [&](const session::RawNativeFrame& frame) {
             const auto* of = session::by_id(record.modules, frame.module);
             return of != nullptr && of->path == module;
           });
  }
  return python != nullptr && std::ranges::any_of(python->frames, [&](const session::RawPythonFrame& frame) {
           const auto* code = session::by_id(record.codes, frame.code);
           return code != nullptr && symbolize::python_line(*code, frame.offset) == line.line &&
                  base::file_name(code->file) == base::file_name(line.file);
         });
}

std::string module_of(const ResolvedSite& at) {
  const Location& line = at.line.location;
  const auto is_there = [&](const symbolize::NativeFrame& frame) {
    return frame.line == line.line && frame.file == line.file && frame.function == line.function;
  };
  const auto found = std::ranges::find_if(at.stack.native, is_there);
  return found == at.stack.native.end() ? "" : found->module;
}

// Another call site on the line of the counted ones, or with their stack.
struct Neighbour {
  bool has_stack = false, is_alike = false;  // with the stack, or with the kernel and the kind, of the counted calls
  std::vector<Line> lines;
};

// Without lines, compares the functions.
bool is_same_place(const Location& a, const Location& b) {
  if (a.line > 0 || b.line > 0) return same_line(a, b);
  return !a.function.empty() && a.function == b.function && a.module == b.module && a.file == b.file;
}

}  // namespace

std::string counted_calls(symbolize::Symbolizer& symbolizer, const session::Process& shown, std::uint32_t shown_site,
                          const session::Process& process, const std::vector<std::uint32_t>& sites) {
  constexpr std::size_t kMost = 256;
  const session::ProcessRecord& record = process.record;
  const session::Site* own = session::by_id(record.sites, sites.front());
  if (own == nullptr) return "";
  const ResolvedSite at = resolve(symbolizer, process, sites.front());
  const Location& line = at.line.location;
  const std::string module = module_of(at);
  std::vector<Neighbour> neighbours;
  for (std::uint32_t id = 1; id <= record.sites.size() && neighbours.size() <= kMost; ++id) {
    const session::Site& site = record.sites[id - 1];
    if (site.operations == 0 || std::ranges::find(sites, id) != sites.end()) continue;
    const bool has_stack = site.python == own->python && site.native == own->native;
    const bool is_alike = site.kind == own->kind && site.function == own->function;
    if (has_stack && is_alike) return "";
    if (!has_stack && !may_be_on(record, site, line, module)) continue;
    const ResolvedSite other = resolve(symbolizer, process, id);
    if (!has_stack && !is_same_place(other.line.location, line)) continue;
    neighbours.push_back({has_stack, is_alike, own_lines(other.stack)});
  }
  const std::string kind = own->kind == wire::operation::Kind::kernel ? "of this kernel" : "of this kind";
  const auto mixed = [&](const auto& is_there) {
    return std::ranges::any_of(neighbours, [&](const auto& each) { return !each.is_alike && is_there(each); });
  };
  const auto alike = [&](const auto& is_there) {
    return std::ranges::any_of(neighbours, [&](const auto& each) { return each.is_alike && is_there(each); });
  };
  if (own->python == 0 && own->native == 0) return kind;
  const bool all_known = record.dropped_sites + record.dropped_interns + record.damaged == 0 &&
                         neighbours.size() <= kMost && at.line.user &&
                         is_same_place(resolve(symbolizer, shown, shown_site).line.location, line);
  if (all_known && !alike([](const Neighbour&) { return true; })) {
    const char* place = line.line > 0 ? "this line" : "this function";
    if (neighbours.empty()) return std::string("of ") + place;
    return kind + (line.line > 0 ? " on " : " in ") + place;
  }
  for (const Line& caller : all_known ? own_lines(at.stack) : std::vector<Line>()) {
    const auto has_caller = [&](const Neighbour& each) {
      return std::ranges::find(each.lines, caller) != each.lines.end();
    };
    if (alike(has_caller)) continue;
    Location location;
    std::tie(location.file, location.line) = caller;
    return (mixed(has_caller) ? kind + ' ' : "") + "from " + place(with_file_name(std::move(location)), "");
  }
  return (mixed([](const Neighbour& each) { return each.has_stack; }) ? kind + ' ' : "") + "with this stack";
}

analyse::CountedCalls counted_calls_by(symbolize::Symbolizer& symbolizer) {
  return [&symbolizer](const session::Process& shown, std::uint32_t shown_site, const session::Process& process,
                       const std::vector<std::uint32_t>& sites) {
    return counted_calls(symbolizer, shown, shown_site, process, sites);
  };
}

analyse::SameLine same_line_by(symbolize::Symbolizer& symbolizer) {
  using Lines = std::map<std::pair<const session::Process*, std::uint32_t>, symbolize::Location>;
  return [&symbolizer, lines = std::make_shared<Lines>()](const session::Process& process, std::uint32_t a,
                                                          std::uint32_t b) {
    const auto line_of = [&](std::uint32_t site) -> const symbolize::Location& {
      const auto [found, is_new] = lines->try_emplace({&process, site});
      if (is_new) found->second = resolve(symbolizer, process, site).line.location;
      return found->second;
    };
    const symbolize::Location &x = line_of(a), &y = line_of(b);
    return x.line > 0 && x.line == y.line && x.file == y.file;
  };
}

Location located(const symbolize::Location& from) {
  Location location = from;
  if (!from.called_from.empty()) location.called_from = {located(from.called_from.front())};
  for (const symbolize::SourceLine& line : symbolize::source_excerpt(from.file, from.line, 0)) {
    location.source = base::trimmed(line.text);
  }
  return location;
}

session::Work work_of(wire::operation::Kind kind) {
  using session::Work;
  using wire::operation::Kind;
  switch (kind) {
    case Kind::kernel:
      return Work::kernel;
    case Kind::graph:
      return Work::graph;
    case Kind::copy:
    case Kind::prefetch:
      return Work::copy;
    case Kind::memset:
      return Work::memset;
    case Kind::host_function:
      return Work::host_function;
    default:
      return Work::call;
  }
}

session::Work work_of(const session::Operation& operation) {
  using session::Work;
  using wire::operation::Kind;
  using wire::operation::MemoryOperation;
  switch (operation.kind) {
    case Kind::event_wait:
      return Work::wait;
    case Kind::event_record:
      return Work::event;
    case Kind::allocation:
      return Work::allocation;
    case Kind::memory_operation: {
      const MemoryOperation what = operation.memory_operation;
      return what == MemoryOperation::write || what == MemoryOperation::signal_semaphore ? Work::write : Work::wait;
    }
    default:
      return work_of(operation.kind);
  }
}

std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer) {
  const session::HostStack* found = nullptr;
  for (const session::HostStack& stack : session.manifest.host_stacks) {
    if (stack.pid == process.pid && (found == nullptr || stack.tid == process.pid)) found = &stack;
  }
  if (found == nullptr) return std::nullopt;
  const symbolize::SourceStack stack = symbolizer.stack(process, found->frames);
  Location line = located(symbolizer.true_line(stack, "").location);
  return line.nearest().line > 0 ? std::optional(std::move(line)) : std::nullopt;
}

const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer) {
  constexpr std::size_t kMost = 64;  // most sites to resolve, because resolving takes time
  std::vector<const session::Operation*> operations;
  for (const session::Operation& operation : process.record.operations) {
    if (operation.site != 0) operations.push_back(&operation);
  }
  std::ranges::sort(operations, [](const auto* a, const auto* b) { return a->ticks > b->ticks; });
  std::set<std::uint32_t> without;
  for (const session::Operation* operation : operations) {
    if (without.size() == kMost) break;
    if (without.contains(operation->site)) continue;
    if (located(resolve(symbolizer, process, operation->site).line.location).nearest().line > 0) return operation;
    without.insert(operation->site);
  }
  return nullptr;
}

}  // namespace cudadiag::diagnose
