// Fuzzes the readers of the files that cudadiag's Python code writes. The first byte selects the reader: values and
// forward lines of a rerun, watched lines of the first run, or a saved call. A saved call is also redacted.
#include "fuzz/reported.h"
#include "report/redaction.h"
#include "session/area_reader.h"
#include "session/hook_output.h"
#include "session/saved_results.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 3 == 2) {
    const auto call = session::parse_saved_call(text);
    if (call && (call->op.empty() || !call->python.starts_with('/'))) __builtin_trap();
    const report::Redaction redaction({"/home/ada"}, {"ada"}, {"box.example"});
    redaction.text(redaction.json(text));
    return 0;
  }
  session::Session session;
  session.manifest.passes = {{.kind = session::PassKind::record, .folder = "record"},
                             {.kind = session::PassKind::confirm, .folder = "confirm"}};
  const auto process = [&] {
    return session::describe_process(session::read_area(test::busy_area().bytes()).record, session.manifest);
  };
  session.processes.push_back(process());
  session.reruns.emplace_back().push_back(process());
  session::Process& teller = data[0] % 3 == 0 ? session.reruns[0][0] : session.processes[0];
  teller.deliveries = session::parse_deliveries(text);
  if (!teller.deliveries.empty()) test::put_on_paper(session);
  return 0;
}
