#include "races/stored_race.h"

#include <cstddef>

namespace cudadiag::races {
namespace {

// If a kernel uses memory near an address, we do not know how it uses the address itself, so the mode is unknown.
session::RaceMode stored_mode(Mode mode) {
  using session::RaceMode;
  constexpr RaceMode modes[] = {RaceMode::unknown, RaceMode::none,    RaceMode::read,   RaceMode::write,
                                RaceMode::atomic,  RaceMode::unknown, RaceMode::unknown};
  return modes[static_cast<std::size_t>(mode)];
}

session::Work stored_work(What what) {
  using session::Work;
  constexpr Work works[] = {Work::kernel, Work::copy, Work::memset, Work::allocation, Work::free};
  return works[static_cast<std::size_t>(what)];
}

}  // namespace

session::RaceAccess stored_access(const Access& access, const Order& order) {
  session::RaceAccess to;
  to.what = stored_work(access.what);
  to.mode = stored_mode(access.mode);
  to.array = access.array;
  to.begin = access.array == 0 ? access.begin : access.begin % kArrayRoom;
  to.end = to.begin + (access.end() - access.begin);
  to.exact = access.exact;
  to.somewhere = access.somewhere;
  to.out_of_order = access.when != When::in_stream;
  to.stream = order.traits(access.stream).handle;
  to.site = access.site;
  to.function = access.function;
  to.parameter = access.parameter;
  to.node = access.node;
  to.thread = access.thread;
  to.ticks = access.ticks;
  return to;
}

session::Race stored_race(const Conflict& race, const Memory& home, const Order& order) {
  session::Race to;
  to.first = stored_access(race.first, order);
  to.second = stored_access(race.second, order);
  to.possible = race.possible;
  to.uncertain = race.uncertain;
  to.waited_before = race.ever_waited;
  to.several = race.several;
  to.one_graph = race.first.at == race.second.at;
  to.times = race.times;
  to.address = home.begin, to.bytes = home.bytes, to.allocated = home.site;
  return to;
}

session::Race stored_race(const HostWrites::Found& found, const Memory& home, const Order& order) {
  session::Race to;
  to.first = stored_access(found.copy, order);
  to.second.on_host = true;
  to.second.mode = session::RaceMode::write;
  to.second.begin = found.change.begin;
  to.second.end = found.change.end;
  to.second.exact = found.change.while_held;
  to.changed = found.change.bytes;
  to.sampled = found.change.sampled;
  to.times = found.times;
  to.address = home.begin, to.bytes = home.bytes, to.allocated = home.site;
  return to;
}

}  // namespace cudadiag::races
