// A network that a rerun has to itself: the loopback interface alone. It carries this machine's addresses too, so that
// processes which name this host find each other. No socket in it reaches another program, or is reached by one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cudadiag::launch {

// Tried in a process of its own: a security module may allow a user namespace, and then refuse everything in it.
bool can_have_private_network();

// Moves this process to such a network, also those that it starts. If its user may not make one (CAP_SYS_ADMIN), it
// moves to a user namespace first: root with all users, others only with their own user and group. False: the kernel, a
// container or a security module refuses it, and nothing has changed. The process must have one thread.
bool enter_private_network();

// Variables that name a network interface get the only one that is left.
void name_loopback(std::vector<std::string>& environment);

// The addresses of this process's network, as inet_ntop writes them.
std::set<std::string> local_addresses();

// Whether a socket in the network of `process` accepts connections or datagrams at this port.
bool is_served(pid_t process, std::uint16_t port);

}  // namespace cudadiag::launch
