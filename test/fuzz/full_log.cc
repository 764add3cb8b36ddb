// Fuzzes the reader of full logs, which joins a log with the area of its process, and the analysis of the result. The
// input is everything after the log's header.
#include "session/full_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "analyse/analysis.h"
#include "session/area_reader.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("log", 0);
  alignas(8) std::byte header[session::kLogHeader]{};
  wire::store(header, session::log_header::kMagic, session::kLogMagic);
  wire::store(header, session::log_header::kVersion, session::kLogVersion);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, header, sizeof header, 0) < 0 ||
      ::pwrite(file, data, size, sizeof header) < 0) {
    std::abort();
  }
  auto log = session::LogReader::open(base::FileDescriptor(::dup(file)));
  if (!log) std::abort();
  session::Session session;
  session.manifest.passes = {{.kind = session::PassKind::record, .folder = "record"}};
  session.processes.push_back(
      session::describe_process(session::read_area(test::busy_area().bytes()).record, session.manifest));
  session::join_log(*log, session.processes.front().record);
  analyse::analyse(session);
  return 0;
}
