// Fuzzes the reader of manifests. Every manifest that it accepts must survive writing and reading again, and must be
// printable in a report.
#include "fuzz/reported.h"
#include "session/area_reader.h"
#include "session/session.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;
using namespace cudadiag::session;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size});
  auto* read = std::get_if<Manifest>(&manifest);
  if (read == nullptr) return 0;
  const std::string once = write_manifest(*read);
  if (write_manifest(std::get<Manifest>(parse_manifest(once))) != once) __builtin_trap();
  for (const Pass& pass : read->passes) {
    if (pass.folder.find('/') != pass.folder.npos || pass.dump.find('/') != pass.dump.npos) __builtin_trap();
  }
  Session session;
  session.folder = "/nowhere";
  session.manifest = std::move(*read);
  session.processes.push_back(describe_process(read_area(test::busy_area().bytes()).record, session.manifest));
  session.reruns.resize(session.manifest.passes.empty() ? 0 : session.manifest.passes.size() - 1);
  test::put_on_paper(session);
  return 0;
}
