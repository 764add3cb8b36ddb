#include "diagnose/forks.h"

#include <fmt/core.h>

#include "analyse/ending.h"
#include "diagnose/facts/place.h"
#include "diagnose/lines.h"
#include "session/process_record.h"
#include "session/processes.h"

namespace cudadiag::diagnose {

void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer) {
  if (!analysis.failures.empty()) return;
  for (const session::Process& process : session.processes) {
    const auto site = session::latest_fork(process.record);
    if (!site || !analyse::ending_of(session, process).bad || !session::has(process.record, session::Property::python))
      continue;
    const symbolize::Location line = resolve(symbolizer, process, *site).line.location;
    const std::string where = is_known(line) ? " in " + place(located(line), report.working_directory) : "";
    report.notes.push_back({analyse::NoteCode::cuda_after_fork,
                            fmt::format("process {} forked{} after using CUDA, so the child cannot use CUDA; if that "
                                        "ended the program (\"Cannot re-initialize CUDA in forked subprocess\"), start "
                                        "workers with multiprocessing.set_start_method(\"spawn\")",
                                        process.pid, where)});
    return;
  }
}

}  // namespace cudadiag::diagnose
