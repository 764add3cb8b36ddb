#include "findings.h"

#include "analyse/analysis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::command {

report::Report examine(const session::Session& session, const std::function<bool(const session::Process&)>& wanted) {
  analyse::Analysis analysis = analyse::analyse(session);
  if (wanted) {
    std::erase_if(analysis.failures, [&](const analyse::Failure& failure) {
      return failure.process != nullptr && !wanted(*failure.process);
    });
  }
  symbolize::Symbolizer symbolizer(session);
  return report::build(session, analysis, symbolizer);
}

}  // namespace cudadiag::command
