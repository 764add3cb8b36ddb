// Moves a rerun to namespaces of its own: a private network, which is cut off from all programs outside it, and the
// mounts of its overlays (overlays.h). Also decodes the addresses that the rerun connects to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cudadiag::launch {

enum class Entry { refused, direct, in_user_namespace };

// Moves this process and its future children to a new namespace of this kind, such as CLONE_NEWNET. Without
// CAP_SYS_ADMIN, moves them to a new user namespace first. Root maps all users there. Other users map only their own
// user and group. If the kernel, a container or a security module refuses, this process may be in a user namespace in
// which it can do nothing, so try in a child process first. The process must have only one thread.
Entry enter_namespace(int kind);

// Tries to create a private network in a child process, because some security modules allow a user namespace but refuse
// every action inside it.
bool can_have_private_network();

// Moves this process and its future children to a new private network, as enter_namespace() does. The network has only
// the loopback interface. This machine's addresses are added to that interface, so processes of the rerun can reach
// each other by the host's name. Returns false without changing anything if the kernel, a container or a security
// module refuses. The process must have only one thread.
bool enter_private_network();

// Changes variables that select a network interface, such as NCCL_SOCKET_IFNAME, to loopback. A private network has no
// other interface.
void name_loopback(std::vector<std::string>& environment);

// Returns the addresses of this process's network, as formatted by inet_ntop().
std::set<std::string> local_addresses();

// Returns true if a socket in the network of `process` accepts connections or datagrams at this port.
bool is_served(pid_t process, std::uint16_t port);

// The socket address that a program passes to the kernel: IPv4 or IPv6, with the port.
struct Endpoint {
  std::uint16_t port = 0;
  bool loopback = false;
  bool any_address = false;
  std::string address;
  std::string text;  // the address and the port
};

// Returns nullopt for other address families, or if there are too few bytes. An IPv4-mapped IPv6 address is returned as
// IPv4.
std::optional<Endpoint> endpoint_of(std::span<const char> bytes);

}  // namespace cudadiag::launch
