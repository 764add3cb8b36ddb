#include "diagnose/races/overruns.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/demangle.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/words.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
namespace {

using session::RaceMode;

class OverrunBuilder {
 public:
  OverrunBuilder(const session::Overrun& overrun, const session::Process& process, const ResolveSite& resolve)
      : from_(overrun), process_(process), resolve_(resolve) {}

  Finding build(const std::string& host) {
    finding_.kind = analyse::Kind::out_of_bounds;
    finding_.title = "bytes out of bounds";
    finding_.pid = process_.pid;
    finding_.rank = process_.rank;
    finding_.host = host;
    std::tie(finding_.location, finding_.stack) = resolve_(process_, from_.access.site);
    const Location& shown = finding_.location.nearest();
    if (shown.line > 0) finding_.excerpt = symbolize::source_excerpt(shown.file, shown.line, 1);
    launch();
    access();
    words();
    return std::move(finding_);
  }

 private:
  std::uint64_t end() const { return from_.address + from_.bytes; }
  bool past_end() const { return from_.access.end > end(); }

  void launch() {
    Launch& to = finding_.launch.emplace();
    to.operation = session::Work::kernel;
    to.stream = from_.access.stream;
    if (const std::string* name = session::by_id(process_.record.functions, from_.access.function)) {
      to.mangled = *name;
      to.kernel = base::demangle(*name);
    }
  }

  void access() {
    Access& to = finding_.access.emplace();
    const RaceMode mode = from_.access.mode;
    to.kind = mode == RaceMode::write    ? sass::AccessKind::store
              : mode == RaceMode::atomic ? sass::AccessKind::atomic
                                         : sass::AccessKind::load;
    to.parameter_byte = from_.access.parameter;
    to.relation = past_end() ? Relation::past_end : Relation::before;
    to.address = past_end() ? std::max(end(), from_.access.begin) : from_.access.begin;
    to.distance = past_end() ? *to.address - end() : from_.address - from_.access.begin;
    PointedMemory& memory = to.allocation.emplace();
    memory.address = from_.address;
    memory.bytes = from_.bytes;
    if (from_.allocated == 0) return;
    memory.allocated = resolve_(process_, from_.allocated).first;
    finding_.related.push_back({Role::allocated, *memory.allocated});
  }

  void words() {
    const std::uint64_t outside = past_end() ? from_.access.end - end() : from_.address - from_.access.begin;
    const std::string kernel =
        finding_.launch->kernel.empty() ? "a kernel" : short_kernel_name(finding_.launch->kernel, 40);
    const char* verb = from_.access.mode == RaceMode::read ? "reads" : "writes";
    finding_.text =
        fmt::format("{} {} {:#x}..{:#x}: up to {} B {} of the allocation {:#x}..{:#x} ({} B)", kernel, verb,
                    from_.access.begin, from_.access.end, thousands(outside),
                    past_end() ? "past the end" : "before the beginning", from_.address, end(), thousands(from_.bytes));
    if (from_.times > 1) finding_.text += fmt::format("; {} launches do this", thousands(from_.times));
    finding_.fix.push_back("compare the size passed to the kernel with the size of the allocation");
    finding_.evidence = {analyse::Fact::rule,
                         "these bytes follow from the kernel's code, grid and parameters; no error was reported"};
  }

  const session::Overrun& from_;
  const session::Process& process_;
  const ResolveSite& resolve_;
  Finding finding_;
};

bool is_same_overrun(const Finding& a, const Finding& b) {
  return a.kind == b.kind && a.pid == b.pid && a.launch->mangled == b.launch->mangled &&
         a.location.nearest().line > 0 && a.location.nearest().line == b.location.nearest().line &&
         a.location.nearest().file == b.location.nearest().file;
}

}  // namespace

void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  if (!session.races) return;
  std::vector<Finding> found;
  for (const session::Overrun& overrun : session.races->overruns) {
    const auto process = std::find_if(session.processes.begin(), session.processes.end(),
                                      [&](const session::Process& each) { return each.pid == overrun.pid; });
    if (process == session.processes.end()) continue;
    Finding finding = OverrunBuilder(overrun, *process, resolve).build(session.manifest.host);
    const auto same = [&](const Finding& other) { return is_same_overrun(finding, other); };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(finding));
  }
  if (!found.empty()) report.verdict = analyse::Verdict::cuda_failure;
  std::move(found.begin(), found.end(), std::back_inserter(report.findings));
}

}  // namespace cudadiag::diagnose
