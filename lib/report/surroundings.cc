#include "report/surroundings.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/words.h"

namespace cudadiag::report {
namespace {

using session::ProcessRecord;

struct Counter {
  std::uint64_t ProcessRecord::*count;
  const char* code;
  const char* sentence;  // {} is the count
};

constexpr Counter kCounters[] = {
    {&ProcessRecord::dropped_operations, "operations-dropped", "{} operations were issued but not recorded"},
    {&ProcessRecord::dropped_sites, "sites-dropped", "{} operations found no room for their call site"},
    {&ProcessRecord::dropped_interns, "names-dropped", "{} names, stacks or modules found no room"},
    {&ProcessRecord::dropped_streams, "streams-dropped", "{} streams were not followed"},
    {&ProcessRecord::dropped_held, "unfinished-dropped", "{} unfinished operations found no room"},
    {&ProcessRecord::failed_markers, "markers-refused", "the driver refused {} completion markers"},
    {&ProcessRecord::damaged, "area-damaged", "{} pieces of the recording made no sense and were left out"},
};

void add(std::vector<analyse::Note>& notes, const std::string& code, const std::string& text) {
  const bool known =
      std::any_of(notes.begin(), notes.end(), [&](const analyse::Note& note) { return note.text == text; });
  if (!known && !text.empty()) notes.push_back({code, text});
}

}  // namespace

void add_environment(Report& report, const session::Session& session) {
  const std::pair<const char*, std::string*> members[] = {
      {"driver", &report.driver}, {"cuda", &report.cuda},     {"cupti", &report.cupti}, {"python", &report.python},
      {"torch", &report.torch},   {"triton", &report.triton}, {"cudnn", &report.cudnn}, {"nccl", &report.nccl}};
  for (const session::Process& process : session.processes) {
    const auto& properties = process.record.properties;
    for (const auto& [key, member] : members) {
      const auto found = properties.find(key);
      if (member->empty() && found != properties.end()) *member = found->second;
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

void add_processes(Report& report, const session::Session& session) {
  for (const session::Process& process : session.processes) {
    ProcessLine line{process.pid, process.parent_pid, process.argv, process.rank, {}, {}};
    if (process.end) {
      line.code = process.end->code;
      line.signal = process.end->signal;
    }
    report.processes.push_back(std::move(line));
  }
}

void add_passes(Report& report, const session::Session& session) {
  for (const session::Pass& pass : session.manifest.passes) {
    PassLine line;
    line.name = pass.name;
    line.seconds = pass.seconds;
    if (pass.name == "record") {
      for (const session::Process& process : session.processes) {
        line.operations += process.record.operations_issued;
        line.dropped += process.record.dropped_operations;
      }
      line.outcome = report.findings.empty() ? "nothing found" : word(report.findings.front().grade);
    }
    report.passes.push_back(std::move(line));
  }
}

void add_notes(Report& report, const session::Session& session, const analyse::Analysis& analysis,
               const std::vector<std::string>& symbolizer_notes) {
  for (const analyse::Note& note : analysis.notes) add(report.notes, note.code, note.text);
  for (const std::string& note : session.manifest.notes) add(report.notes, "launcher", note);
  for (const session::Process& process : session.processes) {
    for (const session::Note& note : process.record.notes) add(report.notes, note.code, note.text);
    for (const Counter& counter : kCounters) {
      const std::uint64_t count = process.record.*counter.count;
      if (count == 0) continue;
      const std::string sentence = fmt::format(fmt::runtime(counter.sentence), count);
      add(report.notes, counter.code, fmt::format("process {}: {}", process.pid, sentence));
    }
  }
  for (const std::string& note : symbolizer_notes) add(report.notes, "symbols", note);
}

}  // namespace cudadiag::report
