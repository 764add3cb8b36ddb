#include "diagnose/races/tensor_races.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "diagnose/captured_values.h"
#include "diagnose/lines.h"
#include "diagnose/stream_name.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
namespace {

using session::DeliveredRace;
using session::Process;

constexpr std::uint64_t kDefaultStream = 1;  // CU_STREAM_LEGACY of cuda.h; PyTorch calls this stream 0

RaceTensor tensor_of(const session::DeliveredValue& value) {
  RaceTensor tensor;
  tensor.name = value.name;
  tensor.view = value.view;
  tensor.argument = value.parameter;
  tensor.role = value.parameter.starts_with("result") ? TensorRole::result : TensorRole::argument;
  tensor.written = value.written;
  tensor.dtype = value.dtype;
  tensor.device = value.device;
  tensor.shape = value.shape;
  tensor.strides = value.strides;
  tensor.begin = value.pointer.value_or(0);
  tensor.end = tensor.begin + value.bytes.value_or(0);
  return tensor;
}

ResolvedAccess resolved(const DeliveredRace::Access& from, const Process& process,
                        const symbolize::Symbolizer& symbolizer) {
  ResolvedAccess access;
  access.operation = from.on_host ? session::Work::call : session::Work::kernel;
  access.mode = from.tensor.written == true ? session::RaceMode::write : session::RaceMode::read;
  access.stream = from.stream == 0 ? kDefaultStream : from.stream;
  access.on_host = from.on_host;
  access.exact = true;
  access.op = from.op;
  access.tensor = tensor_of(from.tensor);
  access.begin = access.tensor->begin;
  access.end = access.tensor->end;
  access.judged_by_schema = true;
  access.stack = symbolizer.stack(process, from.stack);
  access.location = located(line_of_user(access.stack));
  return access;
}

std::string place_of(const ResolvedAccess& access) {
  return access.on_host ? "the host" : stream_phrase(access.stream);
}

const char* use_verb(const ResolvedAccess& access) { return session::alters(access.mode) ? "is written" : "is read"; }

// If both lines use the same variable, returns its name, else "memory".
std::string memory_of(const ResolvedRace& race) {
  const RaceTensor &first = *race.accesses[0].tensor, &second = *race.accesses[1].tensor;
  if (!first.name.empty() && first.name == second.name) return first.name;
  return "memory";
}

void describe(Finding& finding, const DeliveredRace& from) {
  ResolvedRace& race = *finding.race;
  const ResolvedAccess &first = race.accesses[0], &second = race.accesses[1];
  const std::string a = place_of(first);
  const bool alike = first.stream == second.stream && !first.on_host && !second.on_host;
  const std::string b = alike ? other_stream_phrase(second.stream) : place_of(second);
  finding.text = fmt::format("{} {} on {} and {} on {}, and nothing orders the two", memory_of(race), use_verb(first),
                             a, use_verb(second), b);
  race.missing =
      fmt::format("{} {} {}", b, from.waited_before ? "waited only for earlier work on" : "never waited for", a);
  finding.fix.push_back(second.on_host ? "before this line, wait for " + a + ": stream.synchronize(), or an event"
                                       : "before this line, make " + b + " wait for " + a +
                                             ": stream.wait_stream(other), or an event");
  finding.evidence = {analyse::Fact::matched,
                      "no PyTorch event or wait orders the two, and their tensors share these bytes; cudadiag does not "
                      "see waits by other libraries"};
}

Finding finding_of(const DeliveredRace& from, const Process& process, const symbolize::Symbolizer& symbolizer) {
  Finding finding;
  finding.kind = analyse::Kind::stream_race;
  finding.title = "race between two streams";
  finding.pid = process.pid;
  finding.rank = process.rank;
  ResolvedRace& race = finding.race.emplace();
  race.accesses = {resolved(from.first, process, symbolizer), resolved(from.second, process, symbolizer)};
  race.overlap = RaceOverlap{from.begin, from.end, from.bytes};
  const ResolvedAccess& later = race.accesses[1];
  finding.location = later.location;
  finding.stack = later.stack;
  if (later.location.line > 0) finding.excerpt = symbolize::source_excerpt(later.location.file, later.location.line, 1);
  describe(finding, from);
  return finding;
}

bool same_lines(const Finding& a, const Finding& b) {
  return same_line(a.race->accesses[0].location, b.race->accesses[0].location) &&
         same_line(a.race->accesses[1].location, b.race->accesses[1].location);
}

}  // namespace

void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer) {
  std::vector<Finding> found;
  for (const Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      if (!delivery.race) continue;
      Finding finding = finding_of(*delivery.race, process, symbolizer);
      finding.host = session.manifest.host;
      const auto& accesses = finding.race->accesses;
      const bool has_lines = accesses[0].location.line > 0 && accesses[1].location.line > 0;
      const auto same =
          std::find_if(found.begin(), found.end(), [&](const Finding& other) { return same_lines(other, finding); });
      if (!has_lines) continue;
      same == found.end() ? found.push_back(std::move(finding)) : void(++same->race->times);
    }
  }
  if (!found.empty()) report.verdict = analyse::Verdict::cuda_failure;
  std::move(found.begin(), found.end(), std::back_inserter(report.findings));
}

}  // namespace cudadiag::diagnose
