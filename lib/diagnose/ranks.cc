#include "diagnose/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/line_resolver.h"
#include "diagnose/words.h"

namespace cudadiag::diagnose {

std::string names_of(const std::vector<RankName>& lines) {
  std::vector<std::string> ranks, pids;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].rank) {
      pids.push_back(std::to_string(lines[i].pid));
      continue;
    }
    std::size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1].rank == *lines[last].rank + 1) ++last;
    ranks.push_back(last > i + 1 ? fmt::format("{}-{}", *lines[i].rank, *lines[last].rank)
                                 : std::to_string(*lines[i].rank));
    if (last > i + 1) i = last;
  }
  std::string text;
  if (!ranks.empty()) {
    const bool one = ranks.size() == 1 && ranks.front().find('-') == std::string::npos;
    text = (one ? "rank " : "ranks ") + joined(ranks, " and ");
  }
  if (pids.empty()) return text;
  return text + (text.empty() ? "" : " and ") + (pids.size() == 1 ? "process " : "processes ") + joined(pids, " and ");
}

namespace {

using analyse::RankCall;
using Difference = analyse::Ranks::Difference;

constexpr std::size_t kColumns = 60;  // most columns for a kernel's name

RanksDifference difference_of(const analyse::Ranks& ranks) {
  switch (ranks.difference) {
    case Difference::line:
      return RanksDifference::line;
    case Difference::kernel:
      return RanksDifference::kernel;
    case Difference::blocks:
      return RanksDifference::blocks;
    case Difference::none:
      break;
  }
  return ranks.all_have_come() ? RanksDifference::none : RanksDifference::absence;
}

// Returns how the process ended; empty if unknown. Returns nullopt unless it ended on its own before others on its
// host.
std::optional<std::string> ended(const analyse::Ranks& ranks, const RankCall& call, const RecordedRank& recorded) {
  constexpr double kTogether = 1;  // seconds
  const session::Manifest& manifest = recorded.session.manifest;
  const analyse::Ending end = analyse::own_ending(recorded.process);
  if (manifest.ended_before_hang.contains(call.pid)) return end.known ? end.text : "";
  if (manifest.hang || !end.known || end.asked_for()) return std::nullopt;
  const bool before = std::ranges::any_of(ranks.calls, [&](const RankCall& other) {
    return other.host == call.host && other.ended && call.ended && *call.ended + kTogether < *other.ended;
  });
  return before ? std::optional(end.text) : std::nullopt;
}

RankLine line_of(const RankCall& call, const analyse::Ranks& ranks, const RecordedRank& recorded) {
  const session::Process& process = recorded.process;
  RankLine line;
  line.pid = process.pid;
  line.rank = process.rank;
  line.issued = call.issued;
  line.has_come = call.collective.has_value();
  const session::Operation* shown =
      line.has_come ? &process.record.operations[*call.collective] : latest_of_a_line(process, recorded.symbolizer);
  if (shown != nullptr) {
    const ResolvedSite site = resolve(recorded.symbolizer, process, shown->site);
    line.location = located(site.line.location);
    if (!site.mangled.empty()) line.kernel = base::demangle(site.mangled);
    line.grid = shown->grid;
    const session::ProcessRecord& record = process.record;
    if (record.clock_last > shown->ticks) {
      line.seconds = record.seconds(record.clock_last) - record.seconds(shown->ticks);
    }
  }
  if (auto host = line.has_come ? std::nullopt : host_line(recorded.session, process, recorded.symbolizer)) {
    line.location = std::move(*host);
    line.on_host = true;
  }
  line.ended = ended(ranks, call, recorded);
  return line;
}

std::string ended_text(const RankLine& line) {
  return "ended earlier" + (line.ended->empty() ? "" : ", with " + *line.ended);
}

std::string absent_text(const RankLine& line, const std::string& directory) {
  std::string text = fmt::format("{} of them", thousands(line.issued));
  if (line.ended) return text + ", and " + ended_text(line);
  if (line.location.nearest().line == 0) return text;
  if (line.on_host) return text + "; it is on the host at " + place(line.location, directory);
  text += "; its last work was at " + place(line.location, directory);
  return text + (line.seconds ? fmt::format(", {} before the end", duration(*line.seconds)) : "");
}

std::string present_text(const RanksPart& part, const RankLine& line, const std::string& directory) {
  std::string text = place(line.location, directory);
  const std::string kernel = base::printable(short_kernel_name(line.kernel, kColumns));
  if (part.difference == RanksDifference::kernel || part.difference == RanksDifference::blocks) text += "  " + kernel;
  if (part.difference == RanksDifference::blocks)
    text += fmt::format("  {} block{}", line.grid[0], line.grid[0] == 1 ? "" : "s");
  return text;
}

// Groups of ranks, each with the text that they share in the report.
using Told = std::vector<std::pair<std::vector<const RankLine*>, std::string>>;

template <typename Text>
Told told(const RanksPart& part, bool have_come, Text text) {
  Told all;
  for (const RankLine& line : part.ranks) {
    if (line.has_come != have_come) continue;
    std::string of_line = text(line);
    const auto same = std::ranges::find_if(all, [&](const auto& other) { return other.second == of_line; });
    if (same != all.end()) {
      same->first.push_back(&line);
    } else {
      all.push_back({{&line}, std::move(of_line)});
    }
  }
  return all;
}

Told present(const RanksPart& part, const std::string& directory) {
  return told(part, true, [&](const RankLine& line) { return present_text(part, line, directory); });
}

std::string sentence(const Told& told) {
  std::string sentence;
  for (const auto& [lines, text] : told)
    sentence += fmt::format("{}{}: {}", sentence.empty() ? "" : "; ", names_of(lines), text);
  return sentence;
}

std::vector<const RankLine*> absent(const RanksPart& part) {
  std::vector<const RankLine*> lines;
  for (const RankLine& line : part.ranks) {
    if (!line.has_come) lines.push_back(&line);
  }
  return lines;
}

}  // namespace

std::vector<std::string> rank_lines(const RanksPart& part, const std::string& directory) {
  std::string where = part.number == 1 ? "at the first collective" : "at collective " + thousands(part.number);
  if (part.number > part.first) {
    where += part.first == 1
                 ? fmt::format(", after {} that all ranks called in the same way", thousands(part.number - 1))
                 : fmt::format(", after the {} earlier ones still recorded, which all ranks called in the same way",
                               thousands(part.number - part.first));
  }
  std::vector<std::string> lines = {std::move(where)};
  for (const auto& [ranks, text] : present(part, directory)) {
    lines.push_back(fmt::format("{}: {}", names_of(ranks), text));
  }
  for (const auto& [ranks, text] :
       told(part, false, [&](const RankLine& line) { return absent_text(line, directory); })) {
    lines.push_back(fmt::format("{}: called {}", names_of(ranks), text));
  }
  if (part.uneven) {
    const std::string who =
        part.uneven->rank ? fmt::format("rank {}", *part.uneven->rank) : fmt::format("process {}", part.uneven->pid);
    lines.push_back(fmt::format(
        "{} may have skipped a collective: before collective {}, it launched {} kernels, while the other ranks "
        "launched {}",
        who, thousands(part.uneven->number), thousands(part.uneven->kernels), thousands(part.uneven->of_others)));
  }
  return lines;
}

std::string ranks_text(const RanksPart& part, const std::string& directory) {
  const std::vector<std::string> lines = rank_lines(part, directory);
  std::string text = lines.front();
  for (std::size_t i = 1; i < lines.size(); ++i) text += (i == 1 ? ": " : "; ") + lines[i];
  return text;
}

causes::RanksInWords in_words(const RanksPart& part, const std::string& directory) {
  const std::vector<const RankLine*> missing = absent(part);
  return {part.ranks.size(), part.difference, missing.empty() ? "" : names_of(missing),
          sentence(present(part, directory))};
}

std::optional<RanksPart> ranks_part(const analyse::Ranks& ranks,
                                    const std::function<RecordedRank(std::size_t process)>& recorded) {
  RanksPart part;
  part.number = ranks.number;
  part.first = ranks.first;
  part.difference = difference_of(ranks);
  for (const RankCall& call : ranks.calls) part.ranks.push_back(line_of(call, ranks, recorded(call.process)));
  // The ranks made different calls on a single line, so the line does not explain the hang.
  if (ranks.difference == Difference::line && std::ranges::all_of(part.ranks, [&](const RankLine& line) {
        return !line.has_come || same_line(line.location, part.ranks.front().location);
      })) {
    return std::nullopt;
  }
  if (const auto& uneven = ranks.uneven) {
    part.uneven = {uneven->number, uneven->pid, uneven->rank, uneven->kernels, uneven->of_others};
  }
  return part;
}

void add_ranks_note(std::vector<analyse::Note>& notes, const RanksPart& part, const std::string& directory) {
  for (analyse::Note& note : notes) {
    if (note.code == analyse::NoteCode::ranks_part)
      note.text = "the ranks of the job diverge " + ranks_text(part, directory);
  }
}

}  // namespace cudadiag::diagnose
