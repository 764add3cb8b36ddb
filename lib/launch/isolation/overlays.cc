#include "launch/isolation/overlays.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "launch/process_tree.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using base::FileDescriptor;
using base::path_through;

// The kernel's constants. Declared here, because the build machine's headers may be older than the running kernel. The
// numbers are the same on all architectures.
constexpr long kOpenTree = 428, kMoveMount = 429, kSetMountAttributes = 442;
constexpr unsigned kCloneTree = 1, kFromDescriptor = 4, kMountIdMask = 0x1000;
constexpr std::uint64_t kReadOnlyMount = 1;

struct MountAttributes {
  std::uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};

struct MountPoint {
  fs::path path;
  std::string type;
  bool read_only = false;
  bool is_folder = false;
};

std::uint64_t mount_id(const fs::path& path) {
  struct statx status {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (::statx(AT_FDCWD, path.c_str(), kFlags, STATX_TYPE | kMountIdMask, &status) != 0) return 0;
  return status.stx_mnt_id;
}

// In mountinfo, a space is "\040".
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '\\' && i + 3 < text.size();
    plain += code ? static_cast<char>(std::strtoul(text.substr(i + 1, 3).c_str(), nullptr, 8)) : text[i];
    if (code) i += 3;
  }
  return plain;
}

bool is_served(const std::string& type) {
  constexpr const char* kServed[] = {"fuse", "nfs", "cifs", "smb", "9p", "ceph", "lustre"};
  return std::ranges::any_of(kServed, [&](const char* served) { return type.starts_with(served); });
}

// Returns the mounts that can be seen, those above others first. Leaves out a mount that another one covers.
std::vector<MountPoint> mounts_here() {
  std::map<fs::path, MountPoint> found;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string parent, device, root, path, options, word;
    std::uint64_t id = 0;
    words >> id >> parent >> device >> root >> path >> options;
    while (words >> word && word != "-") continue;
    MountPoint mount{unescaped(path), {}};
    words >> mount.type;
    mount.read_only = options == "ro" || options.starts_with("ro,");
    struct stat status {};
    if (mount_id(mount.path) != id) continue;
    // A file server that does not answer could block this process, and only its folders are mounted.
    mount.is_folder = is_served(mount.type) || (::lstat(mount.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
    found[mount.path] = std::move(mount);
  }
  std::vector<MountPoint> mounts;
  for (auto& [path, mount] : found) mounts.push_back(std::move(mount));
  return mounts;
}

// The folders in which a program is expected to write, without symbolic links. A command may name a file or a folder
// that it creates.
std::vector<fs::path> likely_folders(const std::vector<std::string>& command) {
  std::vector<fs::path> likely;
  std::error_code error;
  const auto add = [&](fs::path folder) {
    while (!fs::is_directory(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
    if (const fs::path real = fs::canonical(folder, error); !error && real != "/") likely.push_back(real);
  };
  add(fs::current_path(error));
  for (const char* variable : {"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME"}) {
    if (const std::string folder = base::environment_value(variable); !folder.empty()) add(folder);
  }
  for (const char* folder : {"/tmp", "/var/tmp", kSharedMemory}) add(folder);
  for (const std::string& word : command) {
    // "--output=folder" names a folder, too.
    const std::size_t equals = word.substr(0, word.find('/')).rfind('=');
    const std::string path = word.substr(equals == std::string::npos ? 0 : equals + 1);
    if (!path.empty() && path.size() < PATH_MAX) add(path);
  }
  return likely;
}

bool is_own(const fs::path& file) {
  struct stat status {};
  return ::lstat(file.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

// Chooses the trees that get an overlay.
class TreeChoice {
 public:
  TreeChoice(const std::vector<MountPoint>& mounts, const std::vector<std::string>& command)
      : mounts_(mounts), likely_(likely_folders(command)) {}

  // With CAP_SYS_ADMIN: all that may hold files of programs.
  std::set<fs::path> all() {
    add_children("/", [&](const fs::path& child) { return !is_read_only(child); });
    for (const MountPoint& mount : mounts_) {
      if (mount.path != "/" && is_data(mount)) trees_.insert(mount.path);
    }
    return std::move(trees_);
  }

  // In a user namespace: this user's own folders.
  std::set<fs::path> own() {
    for (const fs::path& each : likely_) {
      if (!is_system(each) && !is_read_only(each)) add_own(each);
    }
    for (const MountPoint& mount : mounts_) {
      if (mount.path == "/" || is_data(mount)) add_children(mount.path, is_own);
    }
    return std::move(trees_);
  }

 private:
  static bool is_system(const fs::path& path) {
    if (path == kSharedMemory) return false;
    if (path.native().starts_with("/run/user/")) return false;
    static const std::vector<fs::path> kSystem = {"/proc", "/sys", "/dev", "/run", "/boot"};
    return is_below(path, kSystem);
  }

  // Returns true if the mount is a folder with files of programs. Layers of containers and file servers count only if
  // the program is expected to write there.
  bool is_data(const MountPoint& mount) const {
    constexpr const char* kNone[] = {"proc",    "sysfs",      "cgroup",      "cgroup2", "devpts",    "devtmpfs",
                                     "mqueue",  "debugfs",    "tracefs",     "pstore",  "bpf",       "configfs",
                                     "fusectl", "securityfs", "binfmt_misc", "autofs",  "hugetlbfs", "rpc_pipefs",
                                     "ramfs",   "selinuxfs",  "efivarfs",    "nsfs"};
    const bool none = std::ranges::find(kNone, mount.type) != std::end(kNone);
    if (none || !mount.is_folder || mount.read_only || is_system(mount.path)) return false;
    const bool only_if_used = mount.type == "overlay" || is_served(mount.type);
    return !only_if_used ||
           std::ranges::any_of(likely_, [&](const fs::path& each) { return is_below(each, {mount.path}); });
  }

  // Returns true if the innermost mount that holds the folder is read-only.
  bool is_read_only(const fs::path& folder) const {
    const MountPoint* innermost = nullptr;
    for (const MountPoint& mount : mounts_) {
      if (is_below(folder, {mount.path})) innermost = &mount;
    }
    return innermost != nullptr && innermost->read_only;
  }

  bool has_mounts(const fs::path& tree) const {
    return std::ranges::any_of(
        mounts_, [&](const MountPoint& mount) { return mount.path != tree && is_below(mount.path, {tree}); });
  }

  bool is_mount(const fs::path& path) const {
    return std::ranges::any_of(mounts_, [&](const MountPoint& mount) { return mount.path == path; });
  }

  // Adds the outermost folder above `folder` that belongs to this user. The kernel would have to copy the folders of
  // others between a tree and a file in it, and cannot.
  void add_own(fs::path folder) {
    while (!is_mount(folder) && is_own(folder) && is_own(folder.parent_path()) && !has_mounts(folder.parent_path())) {
      folder = folder.parent_path();
    }
    if (!has_mounts(folder)) {
      trees_.insert(folder);
    } else {
      add_children(folder, [&](const fs::path& child) { return !has_mounts(child); });
    }
  }

  template <typename Predicate>
  void add_children(const fs::path& folder, const Predicate& is_wanted) {
    constexpr int kMost = 1000;
    std::error_code error;
    int seen = 0;
    for (fs::directory_iterator it(folder, error), end; !error && it != end && ++seen < kMost; it.increment(error)) {
      std::error_code ignored;
      const fs::path& child = it->path();
      // The status of a mount comes from its file server.
      if (is_mount(child) || is_system(child) || it->symlink_status(ignored).type() != fs::file_type::directory) {
        continue;
      }
      if (is_wanted(child)) trees_.insert(child);
    }
  }

  const std::vector<MountPoint>& mounts_;
  const std::vector<fs::path> likely_;
  std::set<fs::path> trees_;
};

FileDescriptor clone_of(const fs::path& path) {
  return FileDescriptor(static_cast<int>(
      ::syscall(kOpenTree, AT_FDCWD, path.c_str(), kCloneTree | O_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)));
}

bool attach(const FileDescriptor& mount, const fs::path& path) {
  return ::syscall(kMoveMount, mount.get(), "", AT_FDCWD, path.c_str(), kFromDescriptor) == 0;
}

bool make_read_only(const fs::path& path) {
  const MountAttributes attributes{kReadOnlyMount};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::syscall(kSetMountAttributes, AT_FDCWD, path.c_str(), kFlags, &attributes, sizeof attributes) == 0;
}

// Gives the folder the owner, mode and times of `model`.
void make_alike(const FileDescriptor& folder, const FileDescriptor& model) {
  struct stat wanted {};
  if (::fstat(model.get(), &wanted) != 0) return;
  mode_t mode = wanted.st_mode & 07777;
  const bool owned = ::fchown(folder.get(), wanted.st_uid, wanted.st_gid) == 0;
  // This user cannot own it for another user. Without these bits, the rerun can create as little in it as the program.
  if (!owned && ::faccessat(model.get(), ".", W_OK, AT_EACCESS) != 0) mode &= ~mode_t{0222};
  ::fchmod(folder.get(), mode);
  const std::array<timespec, 2> times = {wanted.st_atim, wanted.st_mtim};
  ::futimens(folder.get(), times.data());
}

// Device nodes in an overlay would lead to the devices themselves.
unsigned long flags_of(const FileDescriptor& folder) {
  unsigned long flags = MS_NODEV;
  struct statvfs status {};
  if (::fstatvfs(folder.get(), &status) != 0) return flags;
  if ((status.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((status.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  return flags;
}

// Returns a path for a folder's entry that contains no character that the options of a mount give a meaning to.
std::string plain_path(const FileDescriptor& folder, const std::string& name = "") {
  const std::string path = path_through(folder).string();
  return name.empty() ? path : path + "/" + name;
}

FileDescriptor make_folder(const FileDescriptor& parent, const std::string& name) {
  ::mkdirat(parent.get(), name.c_str(), 0700);
  return base::open_plain_folder(parent.get(), name.c_str());
}

std::string work_name(const std::string& upper) { return upper + ".work"; }

// Mounts an overlay at `place`. The tmpfs `written` gets the folders that it needs.
bool mount_overlay(const fs::path& place, const FileDescriptor& lower, const FileDescriptor& written,
                   const std::string& upper, bool in_user_namespace) {
  const FileDescriptor folder = make_folder(written, upper);
  if (!folder.valid() || ::mkdirat(written.get(), work_name(upper).c_str(), 0700) != 0) return false;
  make_alike(folder, lower);
  const std::string options = "lowerdir=" + plain_path(lower) + ",upperdir=" + plain_path(written, upper) +
                              ",workdir=" + plain_path(written, work_name(upper));
  // With the additional options, folders that existed before can be renamed, and a change of a mode copies no contents.
  // A user namespace may not have them. Before Linux 6.6, a tmpfs has no attributes of users.
  const std::vector<std::string> tried =
      in_user_namespace ? std::vector<std::string>{options + ",userxattr", options}
                        : std::vector<std::string>{options + ",redirect_dir=on,metacopy=on", options};
  return std::ranges::any_of(tried, [&](const std::string& each) {
    return ::mount("overlay", place.c_str(), "overlay", flags_of(lower), each.c_str()) == 0;
  });
}

// Limits the number of files, too, because an empty file takes memory.
std::string limits(std::uint64_t bytes) {
  constexpr std::uint64_t kLeastFiles = 1000, kBytesOfFile = 16 << 10;
  return "size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(kLeastFiles + bytes / kBytesOfFile);
}

// Mounts a tmpfs at `place`. Returns its folder.
FileDescriptor mount_tmpfs(const fs::path& place, std::uint64_t bytes) {
  const std::string options = "mode=0700," + limits(bytes);
  if (::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) return FileDescriptor();
  return base::open_plain_folder(AT_FDCWD, place.c_str());
}

Entry enter_mount_namespace() {
  const Entry entry = enter_namespace(CLONE_NEWNS);
  if (entry == Entry::refused) return entry;
  // Without this, the mounts would appear outside, too.
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? entry : Entry::refused;
}

// Enters a mount namespace, and tries an overlay in it.
Entry try_overlay() {
  const Entry entry = enter_mount_namespace();
  std::error_code error;
  const fs::path place = fs::canonical(fs::temp_directory_path(error), error);
  if (entry == Entry::refused || error) return Entry::refused;
  constexpr std::uint64_t kBytes = 64 << 10;
  const FileDescriptor written = mount_tmpfs(place, kBytes);
  const FileDescriptor folder = make_folder(written, "lower");
  const bool works = folder.valid() && mount_overlay(place, folder, written, "0", entry != Entry::direct) &&
                     FileDescriptor(::creat((place / "file").c_str(), 0600)).valid();
  return works ? entry : Entry::refused;
}

std::uint64_t number_in(const fs::path& file) {
  std::uint64_t number = 0;
  std::ifstream(file) >> number;  // "max" reads as 0
  return number;
}

// Returns what is left of the memory limits of this process's control groups.
std::uint64_t memory_left_in_groups() {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  const auto look = [&](const fs::path& folder, const char* limit, const char* used) {
    const std::uint64_t most = number_in(folder / limit);
    const std::uint64_t now = number_in(folder / used);
    if (most > 0) left = std::min(left, most > now ? most - now : 0);
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" is version 2, "4:memory:/path" is version 1. A container may not show the folder of its path.
    const bool version_2 = line.starts_with("0::");
    if (!version_2 && line.find(":memory:") == std::string::npos) continue;
    const fs::path root = version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (fs::path group = line.substr(line.rfind(':') + 1);; group = group.parent_path()) {
      const fs::path folder = root / group.relative_path();
      version_2 ? look(folder, "memory.max", "memory.current")
                : look(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
      if (!group.has_relative_path()) break;
    }
  }
  return left;
}

std::uint64_t available_memory() {
  std::ifstream table("/proc/meminfo");
  for (std::string name, rest; table >> name; std::getline(table, rest)) {
    std::uint64_t kilobytes = 0;
    if (name == "MemAvailable:" && table >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

}  // namespace

std::optional<Overlays> Overlays::enter(const OverlayRequest& request, const std::vector<std::string>& command,
                                        std::string& failed) {
  const auto fail = [&](const char* step) {
    failed = step;
    return std::nullopt;
  };
  std::error_code error;
  const fs::path here = fs::current_path(error);
  // Chosen first, because a user namespace shows other owners.
  const std::vector<MountPoint> mounts = mounts_here();
  std::set<fs::path> all = TreeChoice(mounts, command).all(), own = TreeChoice(mounts, command).own();
  const Entry entry = enter_mount_namespace();
  if (entry == Entry::refused) return fail("cannot create a mount namespace");
  Overlays overlays;
  overlays.in_user_namespace_ = entry == Entry::in_user_namespace;
  overlays.write_limit_ = request.write_limit;
  std::set<fs::path>& chosen = overlays.in_user_namespace_ ? own : all;
  const std::vector<fs::path> trees(chosen.begin(), chosen.end());
  if (trees.empty()) return fail("cannot find a folder for an overlay");

  // Everything is opened first, because an overlay covers what is mounted below its place.
  const FileDescriptor pass = clone_of(request.pass);
  std::vector<FileDescriptor> kept;
  for (const fs::path& path : request.kept) kept.push_back(clone_of(path));
  std::map<fs::path, FileDescriptor> lower, covered;
  for (const fs::path& tree : trees)
    lower[tree] = FileDescriptor(::open(tree.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const MountPoint& mount : mounts) {
    if (!lower.contains(mount.path) && is_below(mount.path, trees)) covered[mount.path] = clone_of(mount.path);
  }
  if (!pass.valid()) return fail("cannot clone the folder of the pass");
  overlays.written_ = mount_tmpfs(request.pass.parent_path(), request.write_limit);
  if (!overlays.written_.valid()) return fail("cannot mount a tmpfs");

  // Mounts each tree, and what was mounted in it. A path sorts before the paths below it.
  auto next_covered = covered.begin();
  const auto attach_covered = [&](const fs::path* before) {
    for (; next_covered != covered.end() && (before == nullptr || next_covered->first < *before); ++next_covered) {
      attach(next_covered->second, next_covered->first);
    }
  };
  for (const auto& [tree, folder] : lower) {
    attach_covered(&tree);
    overlays.add_tree(tree, folder);
  }
  attach_covered(nullptr);
  if (overlays.trees_.empty()) return fail("cannot mount an overlay");
  // The overlays keep the tmpfs, and need its place no more.
  ::umount2(path_through(overlays.written_).c_str(), MNT_DETACH);

  // Hides the session, but for the folder of the pass.
  constexpr std::uint64_t kNothing = 64 << 10;
  const fs::path session = request.pass.parent_path();
  const FileDescriptor cover = mount_tmpfs(session, kNothing);
  if (!make_folder(cover, request.pass.filename()).valid() || !attach(pass, request.pass)) {
    return fail("cannot mount the folder of the pass");
  }
  make_read_only(session);
  overlays.mounts_.insert(mount_id(request.pass));
  for (std::size_t i = 0; i < kept.size(); ++i) attach(kept[i], request.kept[i]);
  for (const MountPoint& mount : mounts) {
    if (mount.read_only) overlays.read_only_.push_back(mount.path);
    // The supervisor opens files in /proc for the rerun, and Landlock protects the others.
    const bool is_tree = std::ranges::find(overlays.trees_, mount.path) != overlays.trees_.end();
    if (is_tree || mount.path == "/proc") continue;
    // Landlock allows everything below a tree, so nothing else would protect a mount that is in one.
    const bool is_read_only = make_read_only(mount.path) || mount.read_only;
    const bool is_exposed = is_below(mount.path, overlays.trees_) && !overlays.owns(mount_id(mount.path));
    if (!is_read_only && is_exposed) return fail("cannot make a mount read-only");
  }
  for (const fs::path& path : request.hidden) overlays.hide(path);
  // The working folder is still the one below the overlay.
  if (::chdir(here.c_str()) != 0) return fail("cannot enter the working folder");
  return overlays;
}

void Overlays::hide(const fs::path& path) {
  const FileDescriptor parent = base::open_plain_folder(AT_FDCWD, path.parent_path().c_str());
  if (parent.valid() && is_below(path, trees_)) base::remove_from(parent, path.filename());
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error))) not_hidden_.push_back(path);
}

void Overlays::add_tree(const fs::path& tree, const FileDescriptor& lower) {
  const std::string upper = std::to_string(next_upper_++);
  if (!lower.valid() || !mount_overlay(tree, lower, written_, upper, in_user_namespace_)) return;
  trees_.push_back(tree);
  uppers_.push_back(upper);
  mounts_.insert(mount_id(tree));
}

const fs::path* Overlays::tree_of(const fs::path& file) const {
  // The last tree that contains the file is the innermost one.
  const auto found =
      std::find_if(trees_.rbegin(), trees_.rend(), [&](const auto& tree) { return is_below(file, {tree}); });
  return found == trees_.rend() ? nullptr : &*found;
}

bool Overlays::was_read_only(const fs::path& path) const { return is_below(path, read_only_); }

bool Overlays::is_written(const fs::path& file) const {
  const fs::path* tree = tree_of(file);
  if (tree == nullptr) return false;
  const std::string& upper = uppers_[static_cast<std::size_t>(tree - trees_.data())];
  struct stat status {};
  const fs::path copy = fs::path(upper) / file.lexically_relative(*tree);
  return ::fstatat(written_.get(), copy.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Overlays::is_fixed(const fs::path& file) const {
  struct stat status {};
  if (!in_user_namespace_ || ::lstat(file.c_str(), &status) != 0) return false;
  const bool is_foreign = status.st_uid != ::geteuid() || status.st_gid != ::getegid();
  return is_foreign && is_below(file, trees_) && !is_written(file);
}

bool Overlays::is_full() const {
  struct statvfs status {};
  return ::fstatvfs(written_.get(), &status) == 0 && (status.f_bfree == 0 || status.f_ffree == 0);
}

bool is_below(const fs::path& path, const std::vector<fs::path>& folders) {
  const std::string& text = path.native();
  return std::ranges::any_of(folders, [&](const fs::path& folder) {
    const std::string& prefix = folder.native();
    if (prefix == "/") return true;
    return text.starts_with(prefix) && (text.size() == prefix.size() || text[prefix.size()] == '/');
  });
}

std::set<fs::path> mount_points() {
  std::set<fs::path> points;
  for (MountPoint& mount : mounts_here()) points.insert(std::move(mount.path));
  return points;
}

Entry entry_to_overlays() {
  static const Entry entry = [] {
    for (const Entry each : {Entry::direct, Entry::in_user_namespace}) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(try_overlay() == each ? 0 : 1);
      if (succeeds(child)) return each;
    }
    return Entry::refused;
  }();
  return entry;
}

std::uint64_t usual_write_limit() {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  return std::min(std::min(memory_left_in_groups(), available_memory()) / 4, kMost);
}

}  // namespace cudadiag::launch
