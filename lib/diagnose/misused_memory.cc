#include "diagnose/misused_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "diagnose/causes/rule.h"
#include "diagnose/dialect.h"
#include "diagnose/stream_name.h"
#include "diagnose/words.h"
#include "session/processes.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
namespace {

class HostWriteBuilder {
 public:
  HostWriteBuilder(const session::Race& race, const session::Process& process, const ResolveSite& resolve, bool torch)
      : from_(race), process_(process), resolve_(resolve), torch_(torch) {}

  Finding build(const std::string& host) {
    finding_.kind = analyse::Kind::stream_race;
    finding_.title = "race between a copy and the host";
    finding_.pid = process_.pid;
    finding_.rank = process_.rank;
    finding_.host = host;
    accesses();
    if (from_.bytes != 0) memory();
    words();
    return std::move(finding_);
  }

 private:
  // Sets the finding's location to the copy, because we cannot tell which line on the host wrote the memory.
  void accesses() {
    ResolvedAccess copy, write;
    copy.operation = from_.first.what;
    copy.mode = from_.first.mode;
    copy.stream = from_.first.stream;
    copy.begin = from_.first.begin;
    copy.end = from_.first.end;
    copy.exact = from_.first.exact;
    std::tie(copy.location, copy.stack) = resolve_(process_, from_.first.site);
    finding_.location = copy.location;
    finding_.stack = copy.stack;
    const Location& shown = copy.location.nearest();
    if (shown.line > 0) finding_.excerpt = symbolize::source_excerpt(shown.file, shown.line, 1);
    write.on_host = true;
    write.mode = from_.second.mode;
    write.begin = from_.second.begin;
    write.end = from_.second.end;
    write.exact = true;
    ResolvedRace& race = finding_.race.emplace();
    race.times = from_.times;
    race.accesses = {std::move(copy), std::move(write)};
  }

  void memory() {
    PointedMemory& to = finding_.race->allocation.emplace();
    to.address = from_.address;
    to.bytes = from_.bytes;
    to.offset = from_.second.begin - from_.address;
    if (from_.allocated == 0) return;
    to.allocated = resolve_(process_, from_.allocated).first;
    finding_.related.push_back({Role::allocated, *to.allocated});
  }

  void words() {
    const std::string stream = stream_phrase(from_.first.stream);
    finding_.text = fmt::format(
        "the copy on {} reads memory that the host changed before the copy began: {}{} B, the first at byte {} of the "
        "source",
        stream, from_.sampled ? "at least " : "", thousands(from_.changed),
        thousands(from_.second.begin - std::min(from_.first.begin, from_.second.begin)));
    finding_.race->missing = "the host did not wait for the copy before it wrote";
    const causes::Dialect dialect = dialect_of(process_, finding_.stack, torch_);
    const std::string calls =
        dialect.python
            ? "event.record(stream) and event.synchronize()"
            : causes::in_dialect("{cuda:cudaEventRecord and cudaEventSynchronize|cuEventRecord and cuEventSynchronize}",
                                 dialect);
    finding_.fix.push_back("record an event after the copy, and wait for it before filling this memory again: " +
                           calls);
    finding_.fix.push_back("or fill a different buffer in the meantime");
    const bool exact = from_.second.exact;
    finding_.evidence = {
        exact ? analyse::Fact::measured : analyse::Fact::matched,
        exact ? "the bytes changed while cudadiag delayed the copy, after all work ordered before the copy had finished"
              : "the bytes changed after the copy was issued and before it began, and cudadiag recorded no operation "
                "that wrote them"};
  }

  const session::Race& from_;
  const session::Process& process_;
  const ResolveSite& resolve_;
  const bool torch_;
  Finding finding_;
};

bool is_same(const Finding& a, const Finding& b) {
  return a.pid == b.pid && a.location.nearest().line > 0 && same_line(a.location, b.location);
}

}  // namespace

void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  if (!session.races) return;
  std::vector<Finding> found;
  for (const session::Race& race : session.races->found) {
    const session::Process* process = session::process_of(session.processes, race.pid);
    if (process == nullptr || !race.second.on_host) continue;
    Finding finding = HostWriteBuilder(race, *process, resolve, !report.torch.empty()).build(session.manifest.host);
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const Finding& other) { return is_same(finding, other); });
    same == found.end() ? found.push_back(std::move(finding)) : void(same->race->times += finding.race->times);
  }
  if (!found.empty()) report.verdict = analyse::Verdict::cuda_failure;
  std::move(found.begin(), found.end(), std::back_inserter(report.findings));
}

}  // namespace cudadiag::diagnose
