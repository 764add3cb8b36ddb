#include "diagnose/pictures.h"

#include <algorithm>

#include "analyse/memory.h"
#include "diagnose/diagnosis.h"
#include "diagnose/pictures/timeline.h"

namespace cudadiag::diagnose {
namespace {

constexpr int kNeighbours = 5;

Quotation quotation_of(const Location& location, const Finding& finding) {
  Quotation quotation{location.nearest(), {}};
  const auto& changed = finding.changed_sources;
  if (std::find(changed.begin(), changed.end(), quotation.at.file) == changed.end()) {
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
      finding.reported_at && finding.reported_at->known() && !same_line(*finding.reported_at, finding.location);
  if (elsewhere) pictures.blamed = quotation_of(*finding.reported_at, finding);
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
