// Finds races between threads of one launch. Internal to lib/sass.
//
// A race is found in two steps. The first one compares forms: two accesses by all threads of two boxes, of which some
// have a byte in common. This takes the same time for a hundred and for a million threads. The second one executes the
// two threads alone, whose numbers are all known, and confirms the addresses, the order, and that two stored values
// differ. If the forms of an access are not known, a few threads of neighbouring blocks are executed alone.
//
// No race is found if there may be an order:
// - Only accesses that do not depend on the contents of memory are compared. An order by a flag, a lock or a ticket needs
//   a thread that waits, or that does something only if it finds some value.
// - Accesses after a loop that may wait for others are left out, and so are those of the block's other threads after
//   their next barrier (barriers of the grid).
// - A kernel is left out if it may wait and also joins the lanes of a warp, because one lane may wait for all of them.
// - Between warps of a block, accesses race only if both threads have passed the same number of barriers.
// - Volatile loads and stores race with nothing, and atomic operations only with plain stores, or with those of other
//   blocks if their scope is a block.
#pragma once

#include "sass/followed_launch.h"

namespace cudadiag::sass {

ThreadRaces find_thread_race(const FollowedLaunch::Code& code, const LaunchValues& launch, const Box& threads);

}  // namespace cudadiag::sass
