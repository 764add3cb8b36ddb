// Feeds the reader of races.json, and the report of what it says of a sound recording.
#include "session/races.h"

#include "fuzz/reported.h"
#include "session/area_reader.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  session::Session session;
  session.races = session::parse_races({reinterpret_cast<const char*>(data), size});
  if (!session.races) return 0;
  const std::string once = session::write_races(*session.races);
  if (session::write_races(session::parse_races(once).value()) != once) __builtin_trap();
  session.manifest.passes = {{.name = "record", .folder = "record"}};
  test::AreaBuilder area = test::busy_area();
  area.state(wire::area::State::finished);
  session.processes.push_back(session::describe_process(session::read_area(area.bytes()).record, session.manifest));
  test::put_on_paper(session);
  return 0;
}
