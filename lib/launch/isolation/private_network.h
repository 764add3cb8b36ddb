// A private network of a rerun, which has only the loopback interface. The interface also has this machine's addresses,
// so that processes that use this host's name find each other. Sockets in this network can neither reach programs
// outside it nor be reached by them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cudadiag::launch {

// Tested in a child process: a security module may allow a user namespace, but refuse everything inside it.
bool can_have_private_network();

// Moves this process and its future children to such a network. If its user may not create one (CAP_SYS_ADMIN), it
// first moves to a user namespace. Root maps all users there; other users map only their own user and group. Returns
// false, and changes nothing, if the kernel, a container or a security module refuses. The process must have only one
// thread.
bool enter_private_network();

// Points variables that choose a network interface to the loopback interface, the only one left.
void name_loopback(std::vector<std::string>& environment);

// The addresses of this process's network, in the format of inet_ntop.
std::set<std::string> local_addresses();

// Whether a socket in the network of `process` accepts connections or datagrams at this port.
bool is_served(pid_t process, std::uint16_t port);

}  // namespace cudadiag::launch
