#include "report/shareable.h"

#include "report/redaction.h"

namespace cudadiag::report {

Report without_secret_arguments(Report report) {
  report.command = without_secrets(report.command);
  for (ProcessLine& process : report.processes) process.argv = without_secrets(process.argv);
  return report;
}

}  // namespace cudadiag::report
