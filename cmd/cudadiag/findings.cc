#include "findings.h"

#include "analyse/analysis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::command {

report::Report examine(const session::Session& session, const std::set<std::uint32_t>& told) {
  analyse::Analysis analysis = analyse::analyse(session);
  std::erase_if(analysis.failures, [&](const analyse::Failure& failure) {
    return failure.process != nullptr && told.contains(failure.process->pid);
  });
  symbolize::Symbolizer symbolizer(session);
  return report::build(session, analysis, symbolizer);
}

}  // namespace cudadiag::command
