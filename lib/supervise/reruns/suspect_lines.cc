#include "supervise/reruns/suspect_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "analyse/forward_launches.h"
#include "session/processes.h"
#include "symbolize/symbolizer.h"
#include "wire/rerun/values.h"

namespace cudadiag::supervise {
namespace {

// Returns whether PyTorch's compiler generated the code, or the code calls generated code. Code that switches the
// compiler off, for example around custom operators, is in the same folders, but is not generated.
bool is_generated(const symbolize::PythonFrame& frame) {
  const std::string& file = frame.file;
  if (frame.function.starts_with("DisableContext.")) return false;
  return file.starts_with("<eval_with_key>") || file.find("torchinductor") != std::string::npos ||
         file.find("/torch/_dynamo/") != std::string::npos || file.find("/torch/_inductor/") != std::string::npos;
}

struct Frame {
  const session::Code* code;
  const symbolize::PythonFrame* source;
  bool leads_into_generated = false;
};

// Returns whether the code belongs to a framework. The variables of framework code do not show the inputs. Ignores a
// folder above `site-packages` that happens to have the name of a framework.
bool is_framework(const symbolize::PythonFrame& frame) {
  constexpr const char* kPackages[] = {"/torch/", "/triton/", "/cupy/", "/numba_cuda/", "/numba/"};
  const auto lies_in = [&](const char* package) {
    const std::size_t at = frame.file.rfind(package);
    return at != std::string::npos && frame.file.find("-packages/", at) == std::string::npos;
  };
  return is_generated(frame) || std::any_of(std::begin(kPackages), std::end(kPackages), lies_in);
}

// Returns the user's innermost frame or, without user frames, the innermost one. Also returns the frame that calls into
// the framework, because a library between the two may run for a long time.
std::vector<Frame> frames_of_interest(const session::ProcessRecord& record, const session::Site& site,
                                      const symbolize::SourceStack& stack) {
  const auto* raw = session::by_id(record.python_stacks, site.python);
  if (raw == nullptr || raw->frames.size() != stack.python.size() || stack.python.empty()) return {};
  const auto begin = stack.python.begin(), end = stack.python.end();
  const auto frame_at = [&](auto at) -> Frame {
    return {session::by_id(record.codes, raw->frames[static_cast<std::size_t>(at - begin)].code), &*at,
            std::any_of(begin, at + 1, is_generated)};
  };
  auto user = std::find_if(begin, end, [](const auto& frame) { return frame.user; });
  if (user == end) user = begin;
  const auto caller = std::find_if_not(begin, user, is_framework);
  if (caller == user) return {frame_at(user)};
  return {frame_at(user), frame_at(caller)};
}

// Returns "" if the line is unknown.
std::string frame_line(const Frame& frame, const char* whole, const char* into_generated) {
  if (frame.code == nullptr || frame.source->line == 0) return "";
  std::string line =
      fmt::format("\n{}\t{}\t{}\t{}\t{}", frame.source->line, frame.code->first_line,
                  frame.leads_into_generated ? into_generated : whole, frame.code->qualified_name, frame.code->file);
  const bool clean = std::count(line.begin(), line.end(), '\t') == 4 && line.find('\n', 1) == std::string::npos;
  return clean ? line : "";
}

std::string text_of(const std::set<std::string>& lines, double seconds, std::uint64_t save_limit) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text.empty() ? "" : fmt::format("{:.1f}\t{}{}", seconds, save_limit, text);
}

// Returns a request for the forward line of the autograd node that issued a backward kernel.
std::string node_line(const session::ProcessRecord& record, const session::Operation& operation) {
  const std::string name = analyse::node_name(record, operation);
  const std::string* type = session::by_id(record.node_types, operation.origin.node_type);
  return fmt::format("\n0\t0\tnodes\t{}\t", name.empty() || name == *type ? "*" : name);
}

// Returns whether this stack has no frame in user code. In that case, only the line that started the thread can be the
// user's.
bool is_led_elsewhere(const symbolize::SourceStack& stack) {
  const auto is_user = [](const auto& frame) { return frame.user; };
  return !stack.python.empty() && std::none_of(stack.python.begin(), stack.python.end(), is_user) &&
         std::none_of(stack.native.begin(), stack.native.end(), is_user);
}

}  // namespace

std::string suspect_lines(const session::Session& session, const analyse::Analysis& analysis, double seconds,
                          std::uint64_t save_limit) {
  symbolize::Symbolizer symbolizer(session);
  std::set<std::string> lines;
  for (const analyse::Failure& failure : analysis.failures) {
    for (const analyse::Candidate& candidate : failure.candidates) {
      const auto* site = session::by_id(failure.process->record.sites, candidate.operation->site);
      if (site == nullptr || !analyse::is_asynchronous(failure.kind)) continue;
      if (analyse::has_forward(*candidate.operation) && lines.size() < wire::values::kMostLines) {
        lines.insert(node_line(failure.process->record, *candidate.operation));
      }
      const symbolize::SourceStack stack = symbolizer.stack(*failure.process, *site);
      if (is_led_elsewhere(stack) && lines.size() < wire::values::kMostLines) lines.insert("\n0\t0\tthreads\t\t");
      for (const Frame& frame : frames_of_interest(failure.process->record, *site, stack)) {
        std::string line = frame_line(frame, "operators", "variables");
        if (!line.empty() && lines.size() < wire::values::kMostLines) lines.insert(std::move(line));
      }
    }
  }
  return text_of(lines, seconds, save_limit);
}

std::string racing_lines(const session::Session& session, double seconds) {
  if (!session.races) return "";
  symbolize::Symbolizer symbolizer(session);
  std::set<std::string> lines;
  const auto add = [&](const session::Race& race) {
    const session::Process* process = session::process_of(session.processes, race.pid);
    if (process == nullptr || race.second.on_host) return;
    for (const std::uint32_t id : {race.first.site, race.second.site}) {
      const auto* site = session::by_id(process->record.sites, id);
      if (site == nullptr) continue;
      // Omits the native stack: the hook does not need it, and a program may have hundreds of sites.
      session::Site python_only = *site;
      python_only.native = 0;
      const symbolize::SourceStack stack = symbolizer.stack(*process, python_only);
      const auto frames = frames_of_interest(process->record, *site, stack);
      std::string line = frames.empty() ? "" : frame_line(frames.front(), "accesses", "arrays");
      if (!line.empty() && lines.size() < wire::values::kMostLines) lines.insert(std::move(line));
    }
  };
  for (const session::Race& race : session.races->found) add(race);
  for (const session::Race& pair : session.races->unjudged) add(pair);
  return text_of(lines, seconds, 0);
}

}  // namespace cudadiag::supervise
