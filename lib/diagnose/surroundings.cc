#include "diagnose/surroundings.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "diagnose/place.h"
#include "diagnose/reruns/kept_from.h"
#include "diagnose/reruns/witnesses.h"
#include "diagnose/resolved_site.h"
#include "diagnose/status.h"
#include "diagnose/versions.h"
#include "diagnose/words.h"

namespace cudadiag::diagnose {
namespace {

void add(std::vector<analyse::Note>& notes, const std::string& code, const std::string& text) {
  const bool known =
      std::any_of(notes.begin(), notes.end(), [&](const analyse::Note& note) { return note.text == text; });
  if (!known && !text.empty()) notes.push_back({code, text});
}

// " at a.cu:62, a.cu:80 and 3 other lines"; empty where none is known.
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
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return "";
  const std::size_t others = lines.size() - std::min(kNamed, lines.size());
  lines.resize(lines.size() - others);
  if (others > 0) lines.push_back(fmt::format("{} other line{}", others, others == 1 ? "" : "s"));
  if (elsewhere) lines.emplace_back("elsewhere");
  return " at " + joined(lines, " and ");
}

std::string outcome_of(const session::Pass& device, const symbolize::DeviceTestimony& testimony) {
  if (device.dump.empty() && device.cut_short.empty())
    return testimony.unfinished ? std::string(kDumpUnfinished) : "no core dump";
  if (device.dump.empty()) return device.cut_short;
  const bool this_one = std::filesystem::path(testimony.dump).filename() == device.dump;
  if (!this_one || !testimony.unreadable.empty()) return "core dump not read";
  return std::string(kDumpRead) + (testimony.debugger ? ", " + testimony.debugger->outcome : "");
}

}  // namespace

void add_environment(Diagnosis& report, const session::Session& session) {
  const std::pair<const char*, std::string*> members[] = {
      {"driver", &report.driver}, {"cuda", &report.cuda},     {"cupti", &report.cupti}, {"python", &report.python},
      {"torch", &report.torch},   {"triton", &report.triton}, {"cudnn", &report.cudnn}, {"nccl", &report.nccl}};
  for (const session::Process& process : session.processes) {
    const auto& properties = process.record.properties;
    const auto packages = package_versions(process.record);
    for (const auto& [key, member] : members) {
      for (const auto* source : {&properties, &packages}) {
        const auto found = source->find(key);
        if (member->empty() && found != source->end()) *member = found->second;
      }
    }
    // Every process numbers its devices for itself; the one that sees most stands for all.
    std::vector<std::string> gpus;
    for (auto at = properties.end();
         (at = properties.find(fmt::format("device.{}.name", gpus.size()))) != properties.end();) {
      gpus.push_back(at->second);
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
                const symbolize::DeviceTestimony& testimony) {
  for (std::size_t i = 0; i < session.manifest.passes.size(); ++i) {
    const session::Pass& pass = session.manifest.passes[i];
    PassLine line;
    line.name = pass.name;
    line.seconds = pass.seconds;
    line.interrupted = pass.cut_short == "interrupted";
    line.isolated = pass.isolated;
    line.kept_from = pass.kept_from;
    static const std::vector<session::Process> kNone;
    const bool is_rerun = i > 0;
    const auto& rerun = is_rerun && i <= session.reruns.size() ? session.reruns[i - 1] : kNone;
    for (const session::Process& process : is_rerun ? rerun : session.processes) {
      line.operations += process.record.operations_issued;
      line.dropped += process.record.dropped_operations;
    }
    if (!is_rerun) {
      const std::size_t races = session.races ? session.races->found.size() : 0;
      line.outcome = analysis.first_grade ? word(*analysis.first_grade)
                     : races > 0          ? fmt::format("{} race{}", races, races == 1 ? "" : "s")
                                          : "nothing found";
    } else if (pass.name == "device") {
      const bool passed = i <= analysis.reruns.size() && analysis.reruns[i - 1].failed_unwatched == false;
      line.outcome = passed ? word(analyse::Rerun::Outcome::did_not_fail) : outcome_of(pass, testimony);
    } else if (pass.name == "memory") {
      const bool told = std::any_of(rerun.begin(), rerun.end(), [](const session::Process& process) {
        return std::any_of(process.deliveries.begin(), process.deliveries.end(),
                           [](const session::Delivery& delivery) { return delivery.memory.has_value(); });
      });
      line.outcome = !pass.cut_short.empty() && !told ? pass.cut_short : told ? "allocator asked" : "memory sufficed";
    } else if (pass.name == "races") {
      const bool read = i <= session.rerun_races.size() && session.rerun_races[i - 1];
      const std::size_t races = read ? session.rerun_races[i - 1]->found.size() : 0;
      line.outcome = !pass.cut_short.empty() ? pass.cut_short
                     : read                  ? fmt::format("{} race{}", races, races == 1 ? "" : "s")
                                             : "not read";
    } else if (pass.name == "eager") {
      const bool failed = std::any_of(rerun.begin(), rerun.end(), [](const session::Process& process) {
        return process.record.state == wire::area::State::frozen;
      });
      const analyse::Ending end = analyse::ending(pass.end);
      line.outcome = failed                    ? "failed"
                     : !pass.cut_short.empty() ? pass.cut_short
                     : end.bad                 ? "ended with " + end.text
                                               : std::string(word(analyse::Rerun::Outcome::did_not_fail));
    } else if (pass.name == "sanitize") {
      line.outcome = testimony.sanitizer ? outcome_of(*testimony.sanitizer) : "not read";
    } else if (i <= analysis.reruns.size()) {
      line.outcome = pass.cut_short.empty() ? word(analysis.reruns[i - 1].outcome) : pass.cut_short;
      line.ended_at_that = analysis.reruns[i - 1].outcome == analyse::Rerun::Outcome::kept_from;
      if (line.ended_at_that) {
        line.outcome = "was kept from " + kept_from_text(pass.kept_from, session.manifest.working_directory);
      }
    }
    report.passes.push_back(std::move(line));
  }
}

void mark_foreign(Diagnosis& report, const std::string& why) {
  if (why.empty()) return;
  report.foreign = why;
  report.notes.push_back({"foreign-session", "source lines are " + withheld_text(report)});
}

std::string withheld_text(const Diagnosis& report) {
  return "not shown, as the session may be somebody else's: " + report.foreign + ". If you trust it, add --foreign";
}

void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer) {
  for (const analyse::Note& note : analysis.notes) {
    std::string text = note.text;
    if (note.calls) text.insert(note.calls->at, at_lines(*note.calls, symbolizer, report.working_directory));
    add(report.notes, note.code, text);
  }
  for (const std::string& note : session.manifest.notes) add(report.notes, "launcher", note);
  for (const std::string& note : symbolizer.notes()) add(report.notes, "symbols", note);
}

void add_unfinished(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer) {
  const auto& passes = session.manifest.passes;
  if (!report.findings.empty() || passes.empty()) return;
  const bool killed = std::any_of(report.notes.begin(), report.notes.end(),
                                  [](const analyse::Note& note) { return note.code == analyse::kKilledAtWork; });
  if (!killed && !passes.front().end.signal) return;
  std::string text = unfinished_text(build_status(session, false, symbolizer));
  if (text.empty()) return;
  const bool from_outside =
      analyse::ending(passes.front().end).killed() ||
      std::any_of(session.processes.begin(), session.processes.end(),
                  [](const session::Process& process) { return analyse::own_ending(process).killed(); });
  if (!session.manifest.hang && from_outside)
    text += "; to have a hang reported by itself: cudadiag run --hang-after SECONDS";
  add(report.notes, kUnfinished, text);
}

}  // namespace cudadiag::diagnose
