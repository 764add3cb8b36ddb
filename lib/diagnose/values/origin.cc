#include "diagnose/values/origin.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "diagnose/captured_values.h"
#include "diagnose/lines.h"

namespace cudadiag::diagnose {
namespace {

using session::DeliveredOrigin;
using session::Delivery;
using session::Process;

struct Traced {
  const Process* process = nullptr;
  const DeliveredOrigin* origin = nullptr;
};

// Returns true if `line` is a line of the finding. For an operator of a backward pass, this may be the line that called
// backward().
bool is_line_of(const Finding& finding, const Location& line) {
  if (line.line == 0) return false;
  if (same_line(line, finding.location) || (finding.caller && same_line(line, *finding.caller))) return true;
  return std::any_of(finding.related.begin(), finding.related.end(), [&](const Related& related) {
    return related.role == Role::backward && same_line(line, related.location);
  });
}

// Returns the first operator on the finding's line that received a bad value. This is the operator that failed.
std::optional<Traced> traced_of(const Finding& finding, const std::vector<Process>& processes,
                                const symbolize::Symbolizer& symbolizer) {
  for (const Process& process : processes) {
    for (const Delivery& delivery : process.deliveries) {
      if (!delivery.origin) continue;
      if (is_line_of(finding, line_of_user(symbolizer.stack(process, delivery.origin->stack))))
        return Traced{&process, &*delivery.origin};
    }
  }
  return std::nullopt;
}

// Merges consecutive steps on one line into the first of them.
std::vector<OriginStep> steps_of(const Traced& traced, const symbolize::Symbolizer& symbolizer) {
  std::vector<OriginStep> steps;
  for (const DeliveredOrigin::Step& step : traced.origin->steps) {
    const Location line = located(line_of_user(symbolizer.stack(*traced.process, step.stack)));
    if (line.line == 0 && steps.empty()) return {};
    if (line.line == 0 || (!steps.empty() && same_line(steps.back().location, line))) continue;
    steps.push_back({step.role, step.op, step.value, step.batch, step.sample, line});
  }
  return steps;
}

// Returns false if the value differs from the value in the confirmed failure. A difference means that the program
// behaves differently from run to run.
bool is_value_of(const Finding& finding, const std::optional<Number>& value) {
  const auto bad = std::find_if(finding.arguments.begin(), finding.arguments.end(),
                                [](const Argument& argument) { return argument.outside.value_or(0) > 0; });
  return bad == finding.arguments.end() || bad->first_value == value;
}

}  // namespace

bool names_bad_value(const Finding& finding) {
  return std::any_of(finding.arguments.begin(), finding.arguments.end(),
                     [](const Argument& argument) { return argument.outside.value_or(0) > 0; });
}

void add_origins(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer) {
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    if (session.manifest.passes[i + 1].kind != session::PassKind::origin) continue;
    for (Finding& finding : report.findings) {
      if (!analyse::is_asynchronous(finding.kind)) continue;
      const auto traced = traced_of(finding, session.reruns[i], symbolizer);
      std::vector<OriginStep> steps = traced ? steps_of(*traced, symbolizer) : std::vector<OriginStep>{};
      if (steps.empty()) continue;
      const bool is_seen = traced->origin->certain && is_value_of(finding, traced->origin->value);
      finding.origin =
          Origin{std::move(steps), traced->origin->index, is_seen ? analyse::Fact::measured : analyse::Fact::matched};
    }
  }
}

}  // namespace cudadiag::diagnose
