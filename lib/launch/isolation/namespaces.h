// Moves this process to new namespaces, in which it may do what needs CAP_SYS_ADMIN outside.
#pragma once

namespace cudadiag::launch {

enum class Entry { refused, direct, in_user_namespace };

// Moves this process and its future children to a new namespace of this kind, such as CLONE_NEWNET. Without
// CAP_SYS_ADMIN, moves them to a new user namespace first. Root maps all users there. Other users map only their own
// user and group. If the kernel, a container or a security module refuses, this process may be in a user namespace in
// which it can do nothing, so try in a child process first. The process must have only one thread.
Entry enter_namespace(int kind);

}  // namespace cudadiag::launch
