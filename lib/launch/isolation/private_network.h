// A rerun's private network. It has only the loopback interface, to which this machine's addresses are added, so that
// processes that use this host's name find each other. Sockets in this network can neither reach programs outside it
// nor be reached by them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cudadiag::launch {

// Tries it in a child process, because a security module may allow a user namespace but refuse everything inside it.
bool can_have_private_network();

// Moves this process and its future children to a new private network. If the user lacks CAP_SYS_ADMIN, moves them to a
// user namespace first. Root maps all users there; other users map only their own user and group. Returns false, and
// changes nothing, if the kernel, a container or a security module refuses. The process must have only one thread.
bool enter_private_network();

// Sets variables that choose a network interface to the loopback interface, the only one in a private network.
void name_loopback(std::vector<std::string>& environment);

// Returns the addresses of this process's network, in the format of inet_ntop.
std::set<std::string> local_addresses();

// Whether a socket in the network of `process` accepts connections or datagrams at this port.
bool is_served(pid_t process, std::uint16_t port);

}  // namespace cudadiag::launch
