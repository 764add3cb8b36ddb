#include "diagnose/run_description.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "analyse/process_ending.h"
#include "analyse/reruns.h"
#include "base/text.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/line_resolver.h"
#include "diagnose/status.h"
#include "diagnose/words.h"
#include "session/saved_results.h"

namespace cudadiag::diagnose {
namespace {

namespace fs = std::filesystem;

// Returns the folders in which packages are installed, according to the paths of the recorded libraries.
std::set<std::string> package_folders(const session::ProcessRecord& process) {
  std::set<std::string> folders;
  for (const session::Module& module : process.modules) {
    for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = module.path.find(name);
      if (at != std::string::npos) folders.insert(module.path.substr(0, at + name.size()));
    }
  }
  return folders;
}

// Returns "torch" and "2.11.0" for "torch-2.11.0.dist-info"; both are empty if the name does not have this form.
std::pair<std::string_view, std::string_view> split_metadata_name(std::string_view name) {
  constexpr std::string_view kEnding = ".dist-info";
  const std::size_t dash = name.find('-');
  if (!name.ends_with(kEnding) || dash == std::string_view::npos) return {};
  return {name.substr(0, dash), name.substr(dash + 1, name.size() - kEnding.size() - dash - 1)};
}

std::string_view member_of(std::string_view package) {
  if (package == "torch" || package == "triton") return package;
  if (package.starts_with("nvidia_cudnn_cu")) return "cudnn";
  if (package.starts_with("nvidia_nccl_cu")) return "nccl";
  return {};
}

// Returns the versions of "torch", "triton", "cudnn" and "nccl". Finds only packages in folders from which the process
// loaded libraries.
std::map<std::string, std::string> package_versions(const session::ProcessRecord& process) {
  std::map<std::string, std::string> versions;
  for (const std::string& folder : package_folders(process)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      const auto [package, version] = split_metadata_name(name);
      const std::string_view member = member_of(package);
      if (!member.empty()) versions.emplace(member, version);
    }
  }
  return versions;
}

using session::Deed;
using session::KeptFrom;

constexpr base::Words<Deed, 13> kDoing = {{
    {Deed::write, "writing"},
    {Deed::make, "creating"},
    {Deed::remove, "removing"},
    {Deed::rename, "renaming"},
    {Deed::link, "linking to"},
    {Deed::change, "changing"},
    {Deed::administer, "changing"},
    {Deed::connect, "connecting to"},
    {Deed::listen, "listening on"},
    {Deed::send, "sending to"},
    {Deed::signal, "signalling"},
    {Deed::trace, "attaching to"},
    {Deed::share, "using"},
}};

// Programs survive when isolation denies a change under /proc, so such a change did not end the rerun.
bool is_of_process(const KeptFrom& kept) { return kept.object.starts_with("/proc/"); }

// The limit has no path. The supervisor reports it when the rerun's overlays are full.
bool is_write_limit(const KeptFrom& kept) { return kept.deed == Deed::write && !kept.object.starts_with('/'); }

}  // namespace

std::string kept_from_text(const std::vector<KeptFrom>& kept, const std::string& directory) {
  if (kept.empty()) return "";
  auto last = std::find_if_not(kept.rbegin(), kept.rend(), is_of_process);
  if (last == kept.rend()) last = kept.rbegin();
  const auto said = [&](const KeptFrom& each) {
    return fmt::format("{} {}", base::word_of(kDoing, each.deed), relative_path(each.object, directory));
  };
  if (kept.size() == 1) return said(*last);
  if (kept.size() == 2) return said(*last) + " and " + said(&*last == &kept.front() ? kept.back() : kept.front());
  return fmt::format("{} and from {} other actions", said(*last), kept.size() - 1);
}

namespace {

void add(std::vector<analyse::Note>& notes, analyse::NoteCode code, const std::string& text) {
  const bool known = std::ranges::any_of(notes, [&](const analyse::Note& note) { return note.text == text; });
  if (!known && !text.empty()) notes.push_back({code, text});
}

// Returns text such as " at a.cu:62, a.cu:80 and 3 other lines"; empty if no line is known.
std::string at_lines(const analyse::NotedCalls& calls, symbolize::Symbolizer& symbolizer,
                     const std::string& directory) {
  constexpr std::size_t kNamed = 2;
  std::vector<std::string> lines;
  bool elsewhere = false;
  for (const std::uint32_t site : calls.sites) {
    const Location location = located(resolve(symbolizer, *calls.process, site).line.location);
    const Location& at = location.nearest();
    elsewhere |= at.line == 0;
    if (at.line == 0) continue;
    std::string line = fmt::format("{}:{}", relative_path(at.file, directory), at.line);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return "";
  const std::size_t others = lines.size() - std::min(kNamed, lines.size());
  lines.resize(lines.size() - others);
  if (others > 0) lines.push_back(fmt::format("{} other line{}", others, others == 1 ? "" : "s"));
  if (elsewhere) lines.emplace_back("elsewhere");
  return " at " + joined(lines, " and ");
}

std::string races_text(const std::optional<session::Races>& races) {
  const std::size_t count = races ? races->found.size() + races->inside.size() : 0;
  return fmt::format("{} race{}", count, count == 1 ? "" : "s");
}

DumpState dump_state(const session::Pass& device, const symbolize::ToolResults& results) {
  if (device.dump.empty()) {
    return results.unfinished && !device.cut_short ? DumpState::unfinished : DumpState::none;
  }
  const bool this_one = base::file_name(results.dump) == device.dump;
  return this_one && results.unreadable.empty() ? DumpState::read : DumpState::unread;
}

std::string dump_text(const session::Pass& device, DumpState state, const symbolize::ToolResults& results) {
  switch (state) {
    case DumpState::unfinished:
      return "core dump unfinished";
    case DumpState::unread:
      return "core dump not read";
    case DumpState::read:
      return "core dump read" + (results.debugger ? ", " + results.debugger->outcome : "");
    case DumpState::none:
      break;
  }
  return device.cut_short ? std::string(word(*device.cut_short)) : "no core dump";
}

// Builds a line for each pass. Each function fills in the outcome of one kind of pass.
class PassLines {
 public:
  PassLines(const session::Session& session, const analyse::Analysis& analysis, const symbolize::ToolResults& results,
            const std::vector<Finding>& findings)
      : session_(session), analysis_(analysis), results_(results), findings_(findings) {}

  PassLine line(std::size_t index) const {
    const session::Pass& pass = session_.manifest.passes[index];
    PassLine line;
    line.kind = pass.kind;
    line.seconds = pass.seconds;
    line.cut_short = pass.cut_short;
    line.isolated = pass.isolated;
    line.kept_from = pass.kept_from;
    for (const session::Process& process : processes(index)) {
      line.operations += process.record.operations_issued;
      line.dropped += process.record.dropped_operations;
    }
    if (index == 0) {
      line.outcome = first_outcome();
    } else {
      add_outcome(pass, index, line);
    }
    return line;
  }

 private:
  const std::vector<session::Process>& processes(std::size_t index) const {
    static const std::vector<session::Process> kNone;
    if (index == 0) return session_.processes;
    return index <= session_.reruns.size() ? session_.reruns[index - 1] : kNone;
  }

  std::string first_outcome() const {
    if (analysis_.first_grade) {
      return std::string(word(*analysis_.first_grade)) + (!results_.of_first_run.empty() ? ", core dump read" : "");
    }
    if (const auto& races = session_.races) {
      return races->found.empty() && races->inside.empty() ? "nothing found" : races_text(races);
    }
    const auto count = [&](analyse::Kind kind) { return std::ranges::count(findings_, kind, &Finding::kind); };
    if (count(analyse::Kind::non_finite) > 0) return "NaN found";
    const auto races = count(analyse::Kind::stream_race);
    return races == 0 ? "nothing found" : fmt::format("{} race{}", races, races == 1 ? "" : "s");
  }

  void add_outcome(const session::Pass& pass, std::size_t index, PassLine& line) const {
    switch (pass.kind) {
      case session::PassKind::device:
        return add_device(pass, index, line);
      case session::PassKind::memory:
        return add_memory(pass, index, line);
      case session::PassKind::races:
        return add_races(pass, index, line);
      case session::PassKind::origin:
        return add_origin(index, line);
      case session::PassKind::launch:
        return add_launch(pass, index, line);
      case session::PassKind::eager:
        return add_eager(pass, index, line);
      case session::PassKind::sanitize:
        line.outcome = results_.sanitizer ? diagnose::outcome_of(*results_.sanitizer) : "not read";
        return;
      default:
        return add_confirm(pass, index, line);
    }
  }

  void add_device(const session::Pass& pass, std::size_t index, PassLine& line) const {
    const bool passed = index <= analysis_.reruns.size() && analysis_.reruns[index - 1].failed_unwatched == false;
    if (passed) {
      line.judged = Outcome::did_not_fail;
      line.outcome = word(Outcome::did_not_fail);
    } else {
      line.dump = dump_state(pass, results_);
      line.outcome = dump_text(pass, line.dump, results_);
    }
  }

  void add_launch(const session::Pass& pass, std::size_t index, PassLine& line) const {
    const auto& all = processes(index);
    const bool is_saved = std::ranges::any_of(all, [&](const session::Process& process) {
      const auto folder = session::saved_launch_folder(session_.folder / pass.folder, process.pid);
      return session::read_replay_tally(folder).has_value();
    });
    line.outcome = pass.access ? (pass.access->why.empty() ? "address found" : "no address: " + pass.access->why)
                   : is_saved  ? "launch saved"
                               : "no launch saved";
  }

  template <typename Predicate>
  bool delivered(std::size_t index, Predicate predicate) const {
    return std::ranges::any_of(processes(index), [&](const session::Process& process) {
      return std::ranges::any_of(process.deliveries, predicate);
    });
  }

  void add_origin(std::size_t index, PassLine& line) const {
    const bool told = delivered(
        index, [](const session::Delivery& delivery) { return delivery.origin && !delivery.origin->steps.empty(); });
    line.outcome = told ? "traced" : "nothing traced";
  }

  void add_memory(const session::Pass& pass, std::size_t index, PassLine& line) const {
    const bool told = delivered(index, [](const session::Delivery& delivery) { return delivery.memory.has_value(); });
    line.outcome = told ? "allocator reported" : pass.cut_short ? word(*pass.cut_short) : "memory sufficed";
  }

  void add_races(const session::Pass& pass, std::size_t index, PassLine& line) const {
    const bool read = index <= session_.rerun_races.size() && session_.rerun_races[index - 1];
    line.outcome = pass.cut_short ? std::string(word(*pass.cut_short))
                   : read         ? races_text(session_.rerun_races[index - 1])
                                  : "not read";
  }

  void add_eager(const session::Pass& pass, std::size_t index, PassLine& line) const {
    const auto& rerun = processes(index);
    const bool failed = std::ranges::any_of(
        rerun, [](const session::Process& process) { return process.record.state == wire::area::State::frozen; });
    const analyse::Ending end = analyse::ending(pass.end);
    if (!failed && !pass.cut_short && !end.bad) line.judged = Outcome::did_not_fail;
    line.outcome = failed           ? "failed"
                   : pass.cut_short ? std::string(word(*pass.cut_short))
                   : end.bad        ? "ended with " + end.text
                                    : std::string(word(Outcome::did_not_fail));
  }

  void add_confirm(const session::Pass& pass, std::size_t index, PassLine& line) const {
    if (index > analysis_.reruns.size()) return;
    const Outcome outcome = analysis_.reruns[index - 1].outcome;
    if (!pass.cut_short) line.judged = outcome;
    line.outcome = pass.cut_short ? word(*pass.cut_short) : word(outcome);
    if (!pass.dump.empty()) {
      line.dump = dump_state(pass, results_);
      line.outcome += ", " + dump_text(pass, line.dump, results_);
    }
    line.ended_at_that = outcome == Outcome::kept_from;
    if (outcome == Outcome::not_reached && analysis_.reruns[index - 1].end.bad) {
      line.last_printed = session::last_printed_line(session_.folder / pass.folder);
    }
    const bool waited_for_all = pass.waits == analyse::kEveryOperation;
    line.leaves_proof_open =
        line.ended_at_that || (outcome == Outcome::failed && !pass.cut_short && (pass.isolated || !waited_for_all));
    if (line.ended_at_that) {
      line.outcome = "was kept from " + kept_from_text(pass.kept_from, session_.manifest.working_directory);
      line.reached_write_limit = std::ranges::any_of(pass.kept_from, is_write_limit);
    }
  }

  using Outcome = analyse::Rerun::Outcome;
  const session::Session& session_;
  const analyse::Analysis& analysis_;
  const symbolize::ToolResults& results_;
  const std::vector<Finding>& findings_;
};

}  // namespace

void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer) {
  if (!analysis.failures.empty()) return;
  for (const session::Process& process : session.processes) {
    const auto site = session::latest_fork(process.record);
    if (!site || !analyse::ending_of(session, process).bad || !session::has(process.record, session::Property::python))
      continue;
    const symbolize::Location line = resolve(symbolizer, process, *site).line.location;
    const std::string where = is_known(line) ? " in " + place(located(line), report.working_directory) : "";
    report.notes.push_back({analyse::NoteCode::cuda_after_fork,
                            fmt::format("process {} forked{} after using CUDA, so the child cannot use CUDA; if that "
                                        "ended the program (\"Cannot re-initialize CUDA in forked subprocess\"), start "
                                        "workers with multiprocessing.set_start_method(\"spawn\")",
                                        process.pid, where)});
    return;
  }
}

void add_environment(Diagnosis& report, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    const auto& properties = process.record.properties;
    const auto packages = package_versions(process.record);
    for (const auto& [key, name, text] : kVersions) {
      for (const auto* source : {&properties, &packages}) {
        const auto found = source->find(key);
        if ((report.*text).empty() && found != source->end()) report.*text = found->second;
      }
    }
    // Device numbers differ between processes, so the report uses those of the process that sees the most devices.
    std::vector<std::string> gpus;
    for (std::string name; !(name = session::device_name(process.record, gpus.size())).empty();) {
      gpus.push_back(std::move(name));
    }
    if (gpus.size() > report.gpus.size()) report.gpus = std::move(gpus);
  }
}

void add_processes(Diagnosis& report, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    ProcessLine line{process.pid, process.parent_pid, process.argv, process.rank, {}, {}};
    if (process.end) {
      line.code = process.end->code;
      line.signal = process.end->signal;
    }
    report.processes.push_back(std::move(line));
  }
}

void add_passes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const symbolize::ToolResults& results) {
  const PassLines lines(session, analysis, results, report.findings);
  for (std::size_t i = 0; i < session.manifest.passes.size(); ++i) report.passes.push_back(lines.line(i));
}

void mark_foreign(Diagnosis& report, const std::string& why) {
  if (why.empty()) return;
  report.foreign = why;
  report.notes.push_back({analyse::NoteCode::foreign_session, "source lines are " + withheld_text(report)});
}

std::string withheld_text(const Diagnosis& report) {
  return "not shown, because the session may belong to another user: " + report.foreign +
         ". If you trust the session, add --foreign";
}

void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer) {
  for (const analyse::Note& note : analysis.notes) {
    std::string text = note.text;
    if (note.calls) text.insert(note.calls->at, at_lines(*note.calls, symbolizer, report.working_directory));
    add(report.notes, note.code, text);
  }
  for (const std::string& note : session.manifest.notes) add(report.notes, analyse::NoteCode::launcher, note);
  for (const std::string& note : symbolizer.notes()) add(report.notes, analyse::NoteCode::symbols, note);
}

void add_unfinished(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                    symbolize::Symbolizer& symbolizer) {
  const auto& passes = session.manifest.passes;
  if (!report.findings.empty() || passes.empty()) return;
  const bool killed = std::ranges::any_of(
      report.notes, [](const analyse::Note& note) { return note.code == analyse::NoteCode::killed_at_work; });
  if (!killed && !passes.front().end.signal) return;
  std::string text = unfinished_text(build_status(session, analysis, false, symbolizer));
  if (text.empty()) return;
  const bool from_outside = analyse::ending(passes.front().end).killed() ||
                            std::ranges::any_of(session.processes, [](const session::Process& process) {
                              return analyse::own_ending(process).killed();
                            });
  if (!session.manifest.hang && from_outside)
    text += "; to have cudadiag report hangs: cudadiag run --hang-after SECONDS";
  add(report.notes, analyse::NoteCode::unfinished, text);
}

}  // namespace cudadiag::diagnose
