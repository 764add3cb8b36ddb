#include "analyse/eager.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/first_failure.h"

namespace cudadiag::analyse {
namespace {

using session::Code;
using session::ProcessRecord;
using session::RawPythonFrame;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool is_inductors(const Code& code) {
  return contains(code.file, "/torch/_inductor/") || contains(code.file, "/torchinductor_");
}

// That lead from a compiled function to what Inductor made of it.
bool is_compilers(const Code& code) { return is_inductors(code) || contains(code.file, "/torch/_"); }

// That a generated kernel is launched through; some of it is made of strings.
bool is_launchers(const Code& code) {
  return is_compilers(code) || contains(code.file, "/triton/") || code.file.starts_with('<');
}

std::uint32_t site_of(const Candidate& candidate) {
  return candidate.node != nullptr ? candidate.node->site : candidate.operation->site;
}

// Innermost first; empty: not known.
std::vector<const Code*> python_frames(const Failure& failure) {
  std::vector<const Code*> frames;
  if (failure.candidates.empty()) return frames;
  const ProcessRecord& record = failure.process->record;
  const auto* site = session::by_id(record.sites, site_of(failure.candidates.front()));
  const auto* stack = site == nullptr ? nullptr : session::by_id(record.python_stacks, site->python);
  if (stack == nullptr) return frames;
  for (const RawPythonFrame& frame : stack->frames) {
    const Code* code = session::by_id(record.codes, frame.code);
    if (code == nullptr) return {};
    frames.push_back(code);
  }
  return frames;
}

// The function that was compiled, as far as one frame of it can stand for it. Null: none was.
const Code* compiled_function(const std::vector<const Code*>& frames) {
  const auto is = [](bool (*what)(const Code&)) { return [what](const Code* code) { return what(*code); }; };
  const auto launched = std::find_if_not(frames.begin(), frames.end(), is(is_launchers));
  const auto outermost = std::find_if(std::reverse_iterator(launched), frames.rend(), is(is_inductors));
  const auto function = std::find_if_not(outermost.base(), frames.end(), is(is_compilers));
  return outermost == frames.rend() || function == frames.end() ? nullptr : *function;
}

// `Model.forward`, also of Model.torch_dynamo_resume_in_forward_at_31, which is the rest of it.
std::string whole_name(const std::string& name) {
  constexpr std::string_view kRest = "torch_dynamo_resume_in_", kAt = "_at_";
  const std::size_t own = name.rfind('.') + 1;
  if (name.compare(own, kRest.size(), kRest) != 0) return name;
  const std::size_t at = name.rfind(kAt);
  return name.substr(0, own) + name.substr(own + kRest.size(), at == name.npos ? at : at - own - kRest.size());
}

bool runs(const std::vector<const Code*>& frames, const Code& function) {
  return std::any_of(frames.begin(), frames.end(), [&](const Code* code) {
    return code->file == function.file && whole_name(code->qualified_name) == whole_name(function.qualified_name);
  });
}

// None of these was written between the two runs.
bool is_same_text(const std::vector<const Code*>& frames, const session::Pass& rerun) {
  return std::none_of(frames.begin(), frames.end(), [&](const Code* code) {
    return std::find(rerun.rewritten.begin(), rerun.rewritten.end(), code->file) != rerun.rewritten.end();
  });
}

bool is_of_one_site(const Failure& failure) {
  const auto site = failure.candidates.front().operation->site;
  return failure.unlisted == 0 && std::all_of(failure.candidates.begin(), failure.candidates.end(),
                                              [&](const Candidate& each) { return each.operation->site == site; });
}

}  // namespace

bool is_compiled(const Failure& failure) { return compiled_function(python_frames(failure)) != nullptr; }

std::optional<Failure> failed_eagerly(const session::Session& session, const Failure& failure) {
  const Code* function = compiled_function(python_frames(failure));
  const auto& passes = session.manifest.passes;
  for (std::size_t i = 0; function != nullptr && i < session.reruns.size() && i + 1 < passes.size(); ++i) {
    if (passes[i + 1].name != "eager") continue;
    for (const session::Process& process : session.reruns[i]) {
      auto eager = first_failure(process);
      if (!eager || eager->candidates.empty() || eager->grade == Grade::suspected || !is_of_one_site(*eager)) continue;
      const auto frames = python_frames(*eager);
      const bool compiled = compiled_function(frames) != nullptr;
      if (!compiled && runs(frames, *function) && is_same_text(frames, passes[i + 1])) return eager;
    }
  }
  return std::nullopt;
}

}  // namespace cudadiag::analyse
