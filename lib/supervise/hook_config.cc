#include "supervise/hook_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include "analyse/forward_launches.h"
#include "analyse/notes.h"
#include "base/text.h"
#include "python/hook_sources.h"
#include "session/process_record.h"
#include "session/retention.h"
#include "session/session_files.h"
#include "symbolize/symbolizer.h"
#include "wire/environment.h"
#include "wire/rerun.h"

namespace cudadiag::supervise {
namespace {

namespace names = wire::environment;

constexpr const char* kPythonPath = "PYTHONPATH";

std::string text_of(const NansOptions& options) {
  std::string text = "history=" + std::to_string(options.history);
  if (options.also_infinite) text += ",also-inf";
  if (options.blocking) text += ",blocking";
  return text;
}

std::optional<base::Error> write_package(const std::filesystem::path& folder, session::SessionWriter& writer) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error)
    return base::Error{"cannot create " + folder.string() + ": " + error.message(),
                       "choose a different folder with -o FOLDER"};
  for (const python::HookModule& module : python::hook_modules()) {
    // The file names do not end in .py. Interpreters that do not run our sitecustomize also have this folder in their
    // path, but must not import the files.
    const auto file = folder / (std::string(module.name) + ".txt");
    if (auto failure = writer.store_text(file, module.text)) return failure;
  }
  if (auto failure = writer.store_text(folder / "load.txt", python::hook_loader())) return failure;
  return writer.store_text(folder / "sitecustomize.py", python::hook_start());
}

base::Result<std::vector<launch::Variable>> started(launch::Variable options, session::SessionWriter& writer) {
  const std::filesystem::path folder = writer.pass_folder() / session::kPythonFolder;
  if (auto failure = write_package(folder, writer)) return *failure;
  const char* path = std::getenv(kPythonPath);
  const std::string others = path == nullptr || *path == '\0' ? "" : ":" + std::string(path);
  return std::vector<launch::Variable>{
      {names::kSession, writer.pass_folder().string()}, std::move(options), {kPythonPath, folder.string() + others}};
}

// For a first run, which our Python code observes instead of the recorder.
base::Result<std::vector<launch::Variable>> first_run(base::Result<std::vector<launch::Variable>> variables) {
  if (auto* made = std::get_if<std::vector<launch::Variable>>(&variables)) {
    made->insert(made->end(), {kUncompiled, {names::kPass, "record"}});
  }
  return variables;
}

}  // namespace

base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer) {
  return first_run(started({names::kNans, text_of(options)}, writer));
}

base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer) {
  return first_run(started({names::kTensorRaces, "on"}, writer));
}

base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer) {
  return started({names::kOrigins, std::to_string(seconds)}, writer);
}

base::Result<std::vector<launch::Variable>> start_of_graph_memory(const std::filesystem::path& recorder,
                                                                  session::SessionWriter& writer) {
  return started({names::kGraphMemory, recorder.string()}, writer);
}

namespace {

namespace fs = std::filesystem;

constexpr double kWatchSeconds = 60;  // limit for reading watched lines, per process
constexpr std::size_t kMostSource = 8u << 20;

struct Line {
  std::string file, number;
};

// Normalises the path, but keeps it relative, because the program may run the file from any folder.
Line parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return {fs::path(text.substr(0, colon)).lexically_normal().string(), text.substr(colon + 1)};
}

// Returns the file at this path. If there is none, looks for a relative path in the folders of the command's files.
std::optional<fs::path> file_here(const std::string& file, const std::vector<std::string>& command) {
  std::error_code error;
  if (fs::exists(file, error)) return file;
  for (const std::string& word : command) {
    const fs::path beside = fs::path(word).parent_path() / file;
    if (fs::is_regular_file(word, error) && fs::exists(beside, error)) return beside;
  }
  return std::nullopt;
}

bool was_reached(std::size_t index, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      const bool said = index < delivery.visits.size();
      if (delivery.kind == session::DeliveryKind::watched && (!said || delivery.visits[index] > 0)) return true;
    }
  }
  return false;
}

// `text` is "FILE:LINE".
bool has_values(const std::string& text, const session::Session& session) {
  const auto [file, number] = parse(text);
  for (const session::Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      const bool there = delivery.kind == session::DeliveryKind::watched && delivery.file.ends_with(file) &&
                         std::to_string(delivery.line) == number;
      if (there && !delivery.values.empty()) return true;
    }
  }
  return false;
}

std::string why_unreached(const session::Session& session, const std::string& file) {
  if (session.processes.empty()) return "CUDA was never initialised, and lines are watched only once it is";
  for (const session::Process& process : session.processes) {
    for (const session::Note& note : process.record.notes) {
      const analyse::NoteCode code = analyse::note_code(note.code);
      if (code == analyse::NoteCode::python_hook || code == analyse::NoteCode::python_hook_off) return note.text;
    }
  }
  const bool hooked = std::ranges::any_of(session.processes, [](const auto& process) {
    return session::has(process.record, session::Property::python_hook);
  });
  if (!hooked) return "no Python code seems to have run after CUDA was initialised, and lines are watched only then";
  return "cudadiag watches a line only after CUDA is initialised, only if it contains code, and only in a file whose "
         "path ends in " +
         file;
}

}  // namespace

std::string watched_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const auto [file, number] = parse(line);
    text += fmt::format("\n{}\t0\twatch\t\t{}", number, file);
  }
  return text.empty() ? "" : fmt::format("{:.1f}\t0{}", kWatchSeconds, text);
}

std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines,
                                        const std::vector<std::string>& command) {
  std::vector<std::string> sentences;
  for (const std::string& line : lines) {
    const auto [file, number] = parse(line);
    const auto here = file_here(file, command);
    if (!here) {
      sentences.push_back(
          fmt::format("--watch {}: found no file {}{}; the line is watched if the program runs such a file anyway",
                      line, file, file.starts_with('/') ? "" : " here or next to the command's files"));
      continue;
    }
    const auto text = session::read_named_file(*here, kMostSource);
    if (!text || text->empty()) continue;
    const auto ends = std::ranges::count(*text, '\n');
    const auto count = static_cast<std::uint64_t>(ends) + (text->back() == '\n' ? 0 : 1);
    if (base::whole_number<std::uint64_t>(number).value_or(UINT64_MAX) > count) {
      sentences.push_back(fmt::format("--watch {}: {} ends at line {}", line, here->string(), count));
    }
  }
  return sentences;
}

std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!was_reached(i, session)) {
      sentences.push_back(fmt::format("--watch {}: no process seems to have reached the line; {}", lines[i],
                                      why_unreached(session, parse(lines[i]).file)));
    } else if (!has_values(lines[i], session)) {
      sentences.push_back(fmt::format(
          "--watch {}: the line was reached, but it uses no variable whose value cudadiag can show", lines[i]));
    }
  }
  return sentences;
}

namespace {

// Returns whether the code was generated by PyTorch's compiler, or belongs to the compiler and calls generated code.
// Some code in the compiler's folders does neither: it switches the compiler off, for example around custom operators.
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

// Returns whether the code belongs to a framework. Variables in framework code do not show the user's inputs. Ignores
// folders above `site-packages`, because one of them may happen to have the name of a framework.
bool is_framework(const symbolize::PythonFrame& frame) {
  constexpr const char* kPackages[] = {"/torch/", "/triton/", "/cupy/", "/numba_cuda/", "/numba/"};
  const auto lies_in = [&](const char* package) {
    const std::size_t at = frame.file.rfind(package);
    return at != std::string::npos && frame.file.find("-packages/", at) == std::string::npos;
  };
  return is_generated(frame) || std::ranges::any_of(kPackages, lies_in);
}

// Returns the user's innermost frame or, without user frames, the innermost one. Also returns the frame that calls into
// the framework: a library between the two, such as a training loop, may run for a long time.
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
  const bool clean = std::ranges::count(line, '\t') == 4 && line.find('\n', 1) == std::string::npos;
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
  return !stack.python.empty() && std::ranges::none_of(stack.python, is_user) &&
         std::ranges::none_of(stack.native, is_user);
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
