// Finds where a compiled function fails, from reruns without torch.compile (passes "eager").
#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "analyse/reruns.h"
#include "session/session_folders.h"
#include "session/user_or_library.h"

namespace cudadiag::analyse {
namespace {

using session::Code;
using session::ProcessRecord;
using session::RawPythonFrame;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool is_inductors(const Code& code) {
  return contains(code.file, "/torch/_inductor/") || session::is_generated(code.file);
}

// Returns whether the code belongs to the compiler. On the stack, the compiler's frames are between a compiled function
// and the code that Inductor generated. On autograd's own threads, the compiled function is not on the stack.
bool is_compilers(const Code& code) {
  return is_inductors(code) || contains(code.file, "/torch/_") || contains(code.file, "/torch/autograd/function.py");
}

// Returns whether this is code that launches a generated kernel. Some of this code is compiled from strings.
bool is_launchers(const Code& code) {
  return is_compilers(code) || contains(code.file, "/triton/") || code.file == "<string>";
}

// Returns the code object of each Python frame of the first candidate, innermost first; empty if unknown.
std::vector<const Code*> python_frames(const Failure& failure) {
  std::vector<const Code*> frames;
  if (failure.candidates.empty()) return frames;
  const ProcessRecord& record = failure.process->record;
  const auto* site = session::by_id(record.sites, failure.candidates.front().site());
  const auto* stack = site == nullptr ? nullptr : session::by_id(record.python_stacks, site->python);
  if (stack == nullptr) return frames;
  for (const RawPythonFrame& frame : stack->frames) {
    const Code* code = session::by_id(record.codes, frame.code);
    if (code == nullptr) return {};
    frames.push_back(code);
  }
  return frames;
}

// Returns the compiled function that launched the kernel; null if none is on the stack.
const Code* compiled_function(const std::vector<const Code*>& frames) {
  const auto is = [](bool (*what)(const Code&)) { return [what](const Code* code) { return what(*code); }; };
  const auto launched = std::ranges::find_if_not(frames, is(is_launchers));
  const auto outermost = std::find_if(std::reverse_iterator(launched), frames.rend(), is(is_inductors));
  const auto function = std::find_if_not(outermost.base(), frames.end(), is(is_compilers));
  return outermost == frames.rend() || function == frames.end() ? nullptr : *function;
}

bool runs(const std::vector<const Code*>& frames, const Code& function) {
  return std::ranges::any_of(frames, [&](const Code* code) {
    return code->file == function.file && whole_name(code->qualified_name) == whole_name(function.qualified_name);
  });
}

bool is_of_one_site(const Failure& failure) {
  return failure.lists_all() && std::ranges::all_of(failure.candidates, [&](const Candidate& each) {
           return each.operation->site == failure.candidates.front().operation->site;
         });
}

}  // namespace

std::string whole_name(const std::string& name) {
  constexpr std::string_view kRest = "torch_dynamo_resume_in_", kAt = "_at_";
  const std::size_t own = name.rfind('.') + 1;
  if (name.compare(own, kRest.size(), kRest) != 0) return name;
  const std::size_t at = name.rfind(kAt);
  return name.substr(0, own) + name.substr(own + kRest.size(), at == name.npos ? at : at - own - kRest.size());
}

const Code* compiled_function_of(const Failure& failure) { return compiled_function(python_frames(failure)); }

bool ran_compiled(const ProcessRecord& record) {
  return std::ranges::any_of(record.codes,
                             [](const Code& code) {
                               return is_inductors(code) || contains(code.file, "/torch/_dynamo/") ||
                                      code.file.starts_with("<eval_with_key>");
                             }) ||
         std::ranges::any_of(record.modules,
                             [](const session::Module& module) { return contains(module.path, "torchinductor"); });
}

bool is_compiled(const Failure& failure) { return compiled_function_of(failure) != nullptr; }

session::Session eager_session(const session::Session& session) {
  session::Session eager;
  eager.folder = session.folder;
  eager.manifest = session.manifest;
  eager.manifest.passes.clear();
  eager.manifest.notes.clear();
  const auto& passes = session.manifest.passes;
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < passes.size(); ++i) {
    if (passes[i + 1].kind != session::PassKind::eager) continue;
    const bool is_first = eager.manifest.passes.empty();
    eager.manifest.passes.push_back(passes[i + 1]);
    eager.manifest.passes.back().kind = is_first ? session::PassKind::record : session::PassKind::confirm;
    is_first ? void(eager.processes = session.reruns[i]) : eager.reruns.push_back(session.reruns[i]);
  }
  return eager;
}

bool shows_line_of(const Failure& failure, const Failure& eager, const session::Session& eager_session) {
  const Code* function = compiled_function(python_frames(failure));
  const auto frames = python_frames(eager);
  const auto failed_work = [](const Failure& each) { return is_asynchronous(each.kind) && each.code != 0; };
  if (function == nullptr || frames.empty() || !failed_work(failure) || !failed_work(eager)) return false;
  if (eager.evidence.is_guess() || eager.process->rank != failure.process->rank) return false;
  const auto& rewritten = eager_session.manifest.passes.front().rewritten;
  const bool same_text = std::ranges::none_of(
      frames, [&](const Code* code) { return std::ranges::find(rewritten, code->file) != rewritten.end(); });
  return same_text && compiled_function(frames) == nullptr && runs(frames, *function) && is_of_one_site(eager);
}

}  // namespace cudadiag::analyse
