// Lets a rerun write, and throws away what it wrote. In a mount namespace of its own, the rerun sees an overlay at the
// place of each folder tree that the program may write to. Everything else is mounted read-only. The folder of the
// session shows only the folder of the rerun's own pass.
//
// Root with CAP_SYS_ADMIN gets an overlay for each folder of "/" and for each other disk. What the rerun writes goes to
// a tmpfs, which disappears with the namespace, even if every process of cudadiag is killed.
//
// Other users get them in a user namespace, in which the kernel permits less: a tree may have no mounts in it, and
// files of other users, or of other groups than the user's first, cannot be written. Therefore, the trees are the
// user's own folders in which programs write.
//
// A tree that cannot have an overlay, such as one on two layers of overlays already, is read-only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "launch/isolation/namespaces.h"

namespace cudadiag::launch {

inline constexpr const char* kSharedMemory = "/dev/shm";

struct OverlayRequest {
  std::uint64_t write_limit = 0;  // bytes that the rerun may write in all
  std::filesystem::path pass;     // the folder of the pass, in the folder of the session; it stays as it is
  std::vector<std::filesystem::path> hidden{};  // files and folders that the rerun must not see
  std::vector<std::filesystem::path> kept{};    // pipes, sockets and locks that stay as they are
};

class Overlays {
 public:
  // Moves this process to its own mount namespace. The process must have only one thread. The trees include the folders
  // that `command` names. Returns the step that failed in `failed`; this process must not go on then.
  static std::optional<Overlays> enter(const OverlayRequest& request, const std::vector<std::string>& command,
                                       std::string& failed);

  // The folders with overlays: absolute and without symbolic links.
  const std::vector<std::filesystem::path>& trees() const { return trees_; }
  // Returns true if files of this mount, as numbered by statx(), are the rerun's own: it is an overlay, or the folder
  // of the pass. A descriptor from outside can lead to another mount of the same tree.
  bool owns(std::uint64_t mount) const { return mounts_.contains(mount); }
  // Returns true if it was read-only before, so that the program could not have written there either.
  bool was_read_only(const std::filesystem::path& path) const;
  // Returns the tree that contains the file; null if none does.
  const std::filesystem::path* tree_of(const std::filesystem::path& file) const;
  // Returns true if the rerun has written to the file, or created it. Other pipes and sockets lead to nobody.
  bool is_written(const std::filesystem::path& file) const;
  // Returns true if the kernel cannot copy the file or folder to the overlay, so that nothing can be changed in it.
  bool is_fixed(const std::filesystem::path& file) const;
  std::uint64_t write_limit() const { return write_limit_; }
  // Returns true if the rerun has written as much as it may.
  bool is_full() const;
  // Returns true if even a change of a name or mode copies the whole file.
  bool copies_whole() const { return in_user_namespace_; }
  // Returns what was to be hidden, but is in no overlay, or is fixed there.
  const std::vector<std::filesystem::path>& not_hidden() const { return not_hidden_; }

 private:
  Overlays() = default;
  void hide(const std::filesystem::path& path);
  void add_tree(const std::filesystem::path& tree, const base::FileDescriptor& lower);

  std::vector<std::filesystem::path> trees_;
  std::vector<std::string> uppers_;  // for each tree, the folder of `written_` with what was written
  int next_upper_ = 0;
  std::set<std::uint64_t> mounts_;
  std::vector<std::filesystem::path> read_only_;
  std::vector<std::filesystem::path> not_hidden_;
  base::FileDescriptor written_;  // a tmpfs
  bool in_user_namespace_ = false;
  std::uint64_t write_limit_ = 0;
};

// Returns true if `path` is in `folders` or below one of them.
bool is_below(const std::filesystem::path& path, const std::vector<std::filesystem::path>& folders);

// Returns the paths of the mounts that can be seen. Asks no file server, which might not answer.
std::set<std::filesystem::path> mount_points();

// Returns how reruns get overlays on this machine. Tries it in a child process, once.
Entry entry_to_overlays();

// Returns how many bytes a rerun may write unless the user says otherwise: a quarter of the memory that is available to
// this control group, and at most 4 GiB.
std::uint64_t usual_write_limit();

}  // namespace cudadiag::launch
