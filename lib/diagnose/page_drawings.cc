#include "diagnose/page_drawings.h"

#include <algorithm>
#include <map>

#include "analyse/recorded_memory.h"
#include "analyse/stream_history.h"
#include "base/text.h"
#include "diagnose/diagnosis.h"
#include "diagnose/line_resolver.h"

namespace cudadiag::diagnose {
namespace {

using analyse::StreamHistory;
using session::Operation;

// The maximum number of operations to draw. On the failure's stream: before the failure, after it, and in total. On any
// other stream: on each side of the last finished operation.
constexpr std::size_t kBefore = 3, kAfter = 3, kMostOfStream = 16, kOfOthers = 2;
constexpr std::size_t kStreams = 6;

class TimelineBuilder {
 public:
  TimelineBuilder(const analyse::Failure& failure, symbolize::Symbolizer& symbolizer)
      : failure_(failure),
        process_(*failure.process),
        symbolizer_(symbolizer),
        events_(process_.record),
        histories_(analyse::stream_histories(process_.record, events_)) {}

  std::optional<Timeline> build() {
    for (StreamHistory& history : histories_) {
      std::erase_if(history.operations, [](const Operation* each) { return !analyse::was_queued(*each); });
    }
    std::erase_if(histories_, [](const StreamHistory& history) { return history.operations.empty(); });
    std::ranges::stable_sort(histories_, [this](const StreamHistory& a, const StreamHistory& b) {
      return holds_candidate(a) > holds_candidate(b);
    });
    if (histories_.empty() || !holds_candidate(histories_.front())) return std::nullopt;
    Timeline timeline;
    for (const StreamHistory& history : histories_) {
      if (timeline.streams.size() == kStreams) break;
      timeline.streams.push_back(drawn(history));
    }
    timeline.other_streams = histories_.size() - timeline.streams.size();
    number_columns(timeline);
    return timeline;
  }

 private:
  bool is_candidate(const Operation& operation) const {
    return std::ranges::any_of(failure_.candidates,
                               [&](const analyse::Candidate& each) { return each.operation == &operation; });
  }

  bool holds_candidate(const StreamHistory& history) const {
    return std::ranges::any_of(history.operations, [this](const Operation* each) { return is_candidate(*each); });
  }

  // Returns whether we know which operation failed, and not only its line.
  bool single() const {
    return failure_.candidates.size() == 1 && failure_.unlisted == 0 && !failure_.call_not_known &&
           failure_.evidence.names_one();
  }

  DrawnProgress progress(const StreamHistory& history, const Operation& operation) const {
    if (is_candidate(operation)) {
      if (failure_.hang) return DrawnProgress::blocked;
      return single() ? DrawnProgress::failed : DrawnProgress::suspected;
    }
    if (operation.ordinal <= history.completed) return DrawnProgress::finished;
    const Operation& leading = *failure_.candidates.front().operation;
    const bool after = operation.stream == leading.stream && operation.ordinal > leading.ordinal;
    return single() && after ? DrawnProgress::not_run : DrawnProgress::not_known;
  }

  // Returns which of the history's operations to draw, as a half-open range of indices.
  std::pair<std::size_t, std::size_t> part_to_draw(const StreamHistory& history) const {
    const auto& all = history.operations;
    const auto candidate = [this](const Operation* each) { return is_candidate(*each); };
    const auto first = std::ranges::find_if(all, candidate);
    if (first == all.end()) {
      const auto open = std::partition_point(all.begin(), all.end(),
                                             [&](const Operation* each) { return each->ordinal <= history.completed; });
      const auto at = static_cast<std::size_t>(open - all.begin());
      return {at - std::min(at, kOfOthers), std::min(at + kOfOthers, all.size())};
    }
    const auto last = std::find_if(all.rbegin(), all.rend(), candidate);
    const auto from = static_cast<std::size_t>(first - all.begin());
    const std::size_t begin = from - std::min(from, kBefore);
    const auto end = static_cast<std::size_t>(last.base() - all.begin()) + kAfter;
    return {begin, std::min({end, begin + kMostOfStream, all.size()})};
  }

  DrawnStream drawn(const StreamHistory& history) {
    DrawnStream stream;
    stream.name = analyse::stream_phrase(*history.stream);
    const auto [begin, end] = part_to_draw(history);
    for (std::size_t i = begin; i < end; ++i) stream.operations.push_back(drawn(history, *history.operations[i]));
    const std::uint32_t first = begin < end ? history.operations[begin]->ordinal : history.stream->issued + 1;
    const std::uint32_t last = begin < end ? history.operations[end - 1]->ordinal : history.stream->issued;
    stream.earlier = history.stream->given_between(0, first - std::min(first, 1u));
    stream.later = history.stream->given_between(last, history.stream->issued);
    return stream;
  }

  DrawnOperation drawn(const StreamHistory& history, const Operation& operation) {
    DrawnOperation result;
    result.work = work_of(operation);
    result.ordinal = operation.ordinal;
    result.progress = progress(history, operation);
    result.marked = (operation.flags & wire::operation::kMarked) != 0;
    result.marker_written = result.marked && operation.ordinal <= history.stream->marker;
    const session::ProcessRecord& record = process_.record;
    if (operation.ticks >= record.clock_start) result.seconds = record.seconds(operation.ticks);
    const auto [found, is_new] = sites_.try_emplace(operation.site);
    if (is_new && operation.site != 0) {
      const ResolvedSite site = resolve(symbolizer_, process_, operation.site);
      if (!site.mangled.empty()) found->second.kernel = base::demangle(site.mangled);
      found->second.location = site.line.location;
    }
    result.kernel = found->second.kernel;
    result.location = found->second.location;
    order_.push_back(operation.ticks);
    return result;
  }

  // Numbers the columns in the order in which the operations were issued. `order_` holds the time of each operation, in
  // drawing order.
  void number_columns(Timeline& timeline) const {
    std::vector<std::size_t> by_time(order_.size()), column(order_.size());
    for (std::size_t i = 0; i < by_time.size(); ++i) by_time[i] = i;
    std::ranges::stable_sort(by_time, [this](std::size_t a, std::size_t b) { return order_[a] < order_[b]; });
    for (std::size_t i = 0; i < by_time.size(); ++i) column[by_time[i]] = i;
    std::size_t next = 0;
    for (DrawnStream& stream : timeline.streams) {
      for (DrawnOperation& operation : stream.operations) operation.column = column[next++];
    }
    timeline.columns = order_.size();
  }

  struct Named {
    std::string kernel;
    Location location;
  };

  const analyse::Failure& failure_;
  const session::Process& process_;
  symbolize::Symbolizer& symbolizer_;
  analyse::EventLog events_;
  std::vector<StreamHistory> histories_;
  std::map<std::uint32_t, Named> sites_;
  std::vector<std::uint64_t> order_;
};

// Returns nullopt if no operation on a stream failed, or if the operation is not recorded.
std::optional<Timeline> timeline_of(const analyse::Failure& failure, symbolize::Symbolizer& symbolizer) {
  const bool of_operation = analyse::is_asynchronous(failure.kind) || failure.kind == analyse::Kind::hang;
  if (!of_operation || failure.candidates.empty()) return std::nullopt;
  // The streams were recorded after the stall. The operation may have finished by then, so a drawing could mislead.
  if (failure.hang && failure.hang->stall != nullptr) return std::nullopt;
  return TimelineBuilder(failure, symbolizer).build();
}

constexpr int kNeighbours = 5;

Quotation quotation_of(const Location& location, const Finding& finding) {
  Quotation quotation{location.nearest(), {}};
  const auto& changed = finding.source.changed;
  if (std::ranges::find(changed, quotation.at.file) == changed.end()) {
    quotation.lines = symbolize::source_excerpt(quotation.at.file, quotation.at.line, kNeighbours);
  }
  return quotation;
}

void add_quotations(FindingPictures& pictures, const Finding& finding) {
  if (finding.race) {
    for (const ResolvedAccess& access : finding.race->accesses) {
      if (access.location.known()) pictures.accesses.push_back(quotation_of(access.location, finding));
    }
    return;
  }
  pictures.own = quotation_of(finding.location, finding);
  const bool elsewhere =
      finding.noticed.at && finding.noticed.at->known() && !same_line(*finding.noticed.at, finding.location);
  if (elsewhere) pictures.blamed = quotation_of(*finding.noticed.at, finding);
}

std::optional<MemoryCurve> curve_of(const analyse::Failure& failure) {
  if (failure.kind != analyse::Kind::out_of_memory || failure.reported == nullptr) return std::nullopt;
  const session::ProcessRecord& record = failure.process->record;
  if (record.seconds_per_tick <= 0) return std::nullopt;
  MemoryCurve curve;
  for (const analyse::MemoryChange& change : analyse::memory_changes(record, *failure.reported)) {
    if (change.ticks < record.clock_start) continue;
    curve.points.push_back({record.seconds(change.ticks), change.bytes});
  }
  if (curve.points.empty()) return std::nullopt;
  curve.end = std::max(record.seconds(failure.reported->ticks), curve.points.back().seconds);
  return curve;
}

}  // namespace

std::vector<FindingPictures> pictures_of(SessionState& state) {
  const Diagnosis& report = state.diagnosis();
  const std::vector<const analyse::Failure*> failures = failures_in_order(state.analysis());
  std::vector<FindingPictures> pictures(report.findings.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    add_quotations(pictures[i], report.findings[i]);
    if (i >= failures.size()) continue;  // later findings, such as races, have no failure
    pictures[i].timeline = timeline_of(*failures[i], state.symbolizer());
    pictures[i].memory = curve_of(*failures[i]);
  }
  return pictures;
}

}  // namespace cudadiag::diagnose
