#include "report/sharing/shareable.h"

#include "report/sharing/redaction.h"

namespace cudadiag::report {

diagnose::Diagnosis without_secret_arguments(diagnose::Diagnosis report) {
  report.command = without_secrets(report.command);
  for (diagnose::ProcessLine& process : report.processes) process.argv = without_secrets(process.argv);
  return report;
}

}  // namespace cudadiag::report
