#include "report/status/activity.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/hangs/unfinished_work.h"
#include "base/demangle.h"
#include "base/printable.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/resolved_site.h"
#include "diagnose/words.h"
#include "report/page.h"
#include "session/process_record.h"
#include "session/processes.h"

namespace cudadiag::report {
namespace {

// How many sites to name in each display. Resolving all symbols of a large program would take too long.
constexpr std::size_t kNamed = 32;
constexpr std::size_t kNameColumns = 60;

// Limits the rate, because a damaged record may contain any number.
std::string rate(double per_second) {
  constexpr double kMost = 1e18;
  return per_second >= 10 ? diagnose::thousands(static_cast<std::uint64_t>(std::min(per_second, kMost)))
                          : fmt::format("{:.1f}", per_second);
}

std::vector<Busy> busiest(const std::map<std::string, double>& rates) {
  std::vector<Busy> busy;
  for (const auto& [name, per_second] : rates) busy.push_back({name, per_second});
  std::stable_sort(busy.begin(), busy.end(), [](const Busy& a, const Busy& b) { return a.per_second > b.per_second; });
  return busy;
}

void add_streams(const session::Process& process, std::vector<StreamQueue>& streams) {
  const session::ProcessRecord& record = process.record;
  for (const analyse::UnfinishedStream& stream : analyse::unfinished_work(record).streams) {
    StreamQueue queue;
    queue.pid = process.pid;
    queue.name = analyse::stream_name(*stream.stream);
    queue.unfinished = stream.stream->issued - stream.completed;
    queue.proven = stream.proven();
    if (!stream.operations.empty() && record.clock_last > stream.operations.front()->ticks) {
      queue.seconds = record.seconds(record.clock_last) - record.seconds(stream.operations.front()->ticks);
    }
    streams.push_back(std::move(queue));
  }
}

}  // namespace

void ActivityWatch::name(const session::Session& session, const std::vector<SiteKey>& wanted) {
  const bool known =
      std::all_of(wanted.begin(), wanted.end(), [&](const SiteKey& key) { return names_.contains(key); });
  if (known) return;
  symbolize::Symbolizer symbolizer(session);
  for (const SiteKey& key : wanted) {
    const session::Process* process = session::process_of(session.processes, key.first);
    if (process == nullptr || names_.contains(key)) continue;
    const diagnose::ResolvedSite site = diagnose::resolve(symbolizer, *process, key.second);
    Named& named = names_[key];
    if (!site.mangled.empty()) named.kernel = diagnose::short_kernel_name(base::demangle(site.mangled), kNameColumns);
    named.line = diagnose::place(diagnose::located(site.line.location),
                                 session::value_of(process->record, session::Property::cwd));
  }
}

Activity ActivityWatch::look(const session::Session& session) {
  Activity activity;
  std::vector<std::pair<double, SiteKey>> rates;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    Counted now{record.seconds(record.clock_last), 0, {}};
    for (const session::Thread& thread : record.threads) now.operations += thread.operations;
    for (const session::Site& site : record.sites) now.sites.push_back(site.operations);
    Counted& last = last_[process.pid];
    const double passed = now.at - last.at;
    activity.operations += now.operations;
    activity.errors += record.error_count;
    activity.seconds = std::max(activity.seconds, passed);
    ++activity.processes;
    // If the count has decreased, the pid belongs to a new process.
    if (passed > 0 && now.operations >= last.operations) {
      activity.per_second += static_cast<double>(now.operations - last.operations) / passed;
      for (std::size_t i = 0; i < now.sites.size(); ++i) {
        const std::uint64_t before = i < last.sites.size() ? last.sites[i] : 0;
        if (now.sites[i] <= before) continue;
        rates.push_back(
            {static_cast<double>(now.sites[i] - before) / passed, {process.pid, static_cast<std::uint32_t>(i + 1)}});
      }
    }
    last = std::move(now);
    add_streams(process, activity.streams);
  }
  std::stable_sort(rates.begin(), rates.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (rates.size() > kNamed) rates.resize(kNamed);
  std::vector<SiteKey> wanted;
  for (const auto& [per_second, key] : rates) wanted.push_back(key);
  name(session, wanted);
  std::map<std::string, double> kernels, lines;
  for (const auto& [per_second, key] : rates) {
    const Named& named = names_[key];
    if (!named.kernel.empty()) kernels[named.kernel] += per_second;
    lines[named.line] += per_second;
  }
  activity.kernels = busiest(kernels);
  activity.lines = busiest(lines);
  std::stable_sort(activity.streams.begin(), activity.streams.end(), [](const StreamQueue& a, const StreamQueue& b) {
    return std::pair(a.proven, a.unfinished) > std::pair(b.proven, b.unfinished);
  });
  return activity;
}

std::string write_activity(const std::string& heading, const Activity& activity, std::size_t rows,
                           std::size_t columns) {
  std::vector<std::string> text = {
      heading, fmt::format("{} operations/s, {} in all; {} process{}; {} failed call{}", rate(activity.per_second),
                           diagnose::thousands(activity.operations), activity.processes,
                           activity.processes == 1 ? "" : "es", activity.errors, activity.errors == 1 ? "" : "s")};
  const std::size_t share = std::max<std::size_t>(rows > 6 ? (rows - 6) / 3 : 1, 1);
  const auto add = [&](const char* label, const std::vector<Busy>& busy) {
    if (!busy.empty()) text.emplace_back(label);
    for (std::size_t i = 0; i < std::min(share, busy.size()); ++i) {
      text.push_back(fmt::format("{:>10}/s  {}", rate(busy[i].per_second), base::printable(busy[i].name)));
    }
  };
  add("busiest kernels", activity.kernels);
  add("busiest lines", activity.lines);
  text.emplace_back(activity.streams.empty() ? "no work is unfinished" : "unfinished work");
  for (std::size_t i = 0; i < std::min(share, activity.streams.size()); ++i) {
    const StreamQueue& queue = activity.streams[i];
    const std::string whose = activity.processes > 1 ? fmt::format("pid {}, ", queue.pid) : "";
    const std::string age = queue.proven ? fmt::format(", the oldest for {}", diagnose::duration(queue.seconds)) : "";
    text.push_back(fmt::format("{:>10}    {}{}{}", diagnose::thousands(queue.unfinished), whose,
                               base::printable(queue.name),
                               queue.proven ? age : " (at most this many: no marker follows them)"));
  }
  if (activity.per_second == 0 && !activity.streams.empty()) {
    text.emplace_back("nothing has been issued since the last update: cudadiag status shows what waits for what");
  }
  constexpr std::size_t kHang = 4;
  std::string page;
  for (const std::string& line : text) {
    for (const std::string& row : wrapped(line, columns, kHang)) {
      if (rows == 0) return page;
      page += base::clip(row, columns) + '\n';
      --rows;
    }
  }
  return page;
}

}  // namespace cudadiag::report
