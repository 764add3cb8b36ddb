// Converts races and their accesses to the form that the session stores (session/notes/races.h).
#pragma once

#include "races/history.h"
#include "races/host_writes.h"
#include "races/known_memory.h"
#include "races/order.h"
#include "session/notes/races.h"

namespace cudadiag::races {

session::RaceAccess stored_access(const Access& access, const Order& order);
// `home` is the memory that both accesses use.
session::Race stored_race(const Conflict& race, const Memory& home, const Order& order);
// `home` is the memory of the copy's source.
session::Race stored_race(const HostWrites::Found& found, const Memory& home, const Order& order);

}  // namespace cudadiag::races
