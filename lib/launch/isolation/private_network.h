// Creates a rerun's private network, which is cut off from all programs outside it. It has only the loopback interface.
// This machine's addresses are added to that interface, so processes of the rerun can reach each other by the host's
// name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cudadiag::launch {

// Tries to create a private network in a child process, because some security modules allow a user namespace but refuse
// every action inside it.
bool can_have_private_network();

// Moves this process and its future children to a new private network. Without CAP_SYS_ADMIN, moves them to a new user
// namespace first. Root maps all users there. Other users map only their own user and group. Returns false without
// changing anything if the kernel, a container or a security module refuses. The process must have only one thread.
bool enter_private_network();

// Changes variables that select a network interface, such as NCCL_SOCKET_IFNAME, to loopback. A private network has no
// other interface.
void name_loopback(std::vector<std::string>& environment);

// Returns the addresses of this process's network, as formatted by inet_ntop().
std::set<std::string> local_addresses();

// Returns true if a socket in the network of `process` accepts connections or datagrams at this port.
bool is_served(pid_t process, std::uint16_t port);

}  // namespace cudadiag::launch
