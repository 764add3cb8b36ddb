// Fuzzes the reader of races.json, then reports a valid recording with these races, with and without a rerun.
#include "fuzz/reported.h"
#include "session/area_reader.h"
#include "session/found_races.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  session::Session session;
  session.races = session::parse_races({reinterpret_cast<const char*>(data), size});
  if (!session.races) return 0;
  const std::string once = session::write_races(*session.races);
  if (session::write_races(session::parse_races(once).value()) != once) __builtin_trap();
  session.manifest.passes = {{.kind = session::PassKind::record, .folder = "record"}};
  test::AreaBuilder area = test::busy_area();
  area.state(wire::area::State::finished);
  session.processes.push_back(session::describe_process(session::read_area(area.bytes()).record, session.manifest));
  test::put_on_paper(session);
  // The rerun found the same races, and captured the names of their tensors.
  session::Process again = session.processes.front();
  using session::DeliveryKind;
  for (const DeliveryKind kind : {DeliveryKind::call, DeliveryKind::results, DeliveryKind::line}) {
    session::Delivery& told = again.deliveries.emplace_back();
    told.kind = kind;
    told.op = "aten::add_";
    told.tid = again.record.threads.empty() ? 0 : again.record.threads.front().tid;
    told.ticks = kind == DeliveryKind::results ? ~std::uint64_t{0} : 0;
    session::DeliveredValue& value = told.values.emplace_back();
    value.pointer = 4096;
    value.extent = ~std::uint64_t{0};
    value.written = size % 2 == 0;
  }
  session.manifest.passes.push_back({.kind = session::PassKind::races, .folder = "races"});
  session.reruns.push_back({std::move(again)});
  session.rerun_races.push_back(session.races);
  test::put_on_paper(session);
  return 0;
}
