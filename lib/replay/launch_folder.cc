#include "replay/launch_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/write_all.h"
#include "replay/description.h"
#include "replay/launch_file.h"
#include "replay/launch_texts.h"
#include "session/host_name.h"
#include "session/plain_file.h"
#include "wire/hash.h"

namespace cudadiag::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostDescription = std::uint64_t{64} << 20;

base::FileDescriptor open_folder(const fs::path& path) {
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::optional<base::Error> store(int folder, const char* name, std::string_view text) {
  const std::string draft = std::string(name) + ".new";
  ::unlinkat(folder, draft.c_str(), 0);
  const base::FileDescriptor file(
      ::openat(folder, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.valid() && base::write_all(file.get(), text) && ::renameat(folder, draft.c_str(), folder, name) == 0) {
    return std::nullopt;
  }
  return base::Error{fmt::format("cannot write {} of the saved launch: {}", name, std::strerror(errno)),
                     "free some disk space"};
}

std::optional<base::Error> store_texts(int folder, const SavedLaunch& launch) {
  for (const auto& [name, text] : {std::pair(kReadme, readme_of(launch)), std::pair(kSource, source_of(launch)),
                                   std::pair(kLaunchFile, write_launch(launch))}) {
    if (auto failure = store(folder, name, text)) return failure;
  }
  return std::nullopt;
}

// Holes in the file stay holes in the copy.
bool copy_file(const base::FileDescriptor& from, int folder, const std::string& name, std::uint64_t bytes) {
  const base::FileDescriptor to(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to.valid() || ::ftruncate(to.get(), static_cast<off_t>(bytes)) != 0) return false;
  off_t at = 0;
  const auto size = static_cast<off_t>(bytes);
  while (at < size) {
    off_t begin = ::lseek(from.get(), at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;
    if (begin < 0) begin = at;
    off_t end = ::lseek(from.get(), begin, SEEK_HOLE);
    if (end < 0) end = size;
    loff_t in = begin, out = begin;
    while (in < end) {
      if (::copy_file_range(from.get(), &in, to.get(), &out, static_cast<std::size_t>(end - in), 0) <= 0) return false;
    }
    at = end;
  }
  return true;
}

}  // namespace

std::string host_mark() {
  const std::string host = session::host_name();
  return host.empty() ? "" : fmt::format("{:016x}", wire::hash_bytes(host.data(), host.size()));
}

base::Result<LaunchFolder> LaunchFolder::open(const fs::path& path) {
  const base::Error none = {path.string() + " is not the folder of a saved launch",
                            "save one: cudadiag run --save-launch -- COMMAND"};
  LaunchFolder folder(path, open_folder(path));
  if (!folder.folder_.valid()) return none;
  const auto text = session::read_plain_file(path / kLaunchFile, kMostDescription);
  if (!text) return none;
  auto launch = parse_launch(*text);
  if (const auto* failure = std::get_if<base::Error>(&launch)) return *failure;
  folder.launch_ = std::move(std::get<SavedLaunch>(launch));
  return folder;
}

std::string LaunchFolder::why_foreign() const {
  struct stat status {};
  if (::fstat(folder_.get(), &status) != 0) return "its folder cannot be read";
  if (status.st_uid != ::geteuid()) return fmt::format("its folder belongs to another user (uid {})", status.st_uid);
  if ((status.st_mode & S_IWOTH) != 0) return "anyone can write to its folder";
  std::vector<std::string> names = {kLaunchFile, wire::saved_launch::kImage};
  for (const Block& block : launch_.blocks) {
    if (block.contents) names.push_back(block.contents->file);
  }
  for (const std::string& name : names) {
    const bool is_there = ::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && status.st_uid != ::geteuid())
      return fmt::format("its file {} belongs to another user (uid {})", name, status.st_uid);
  }
  if (launch_.made_on.empty() || launch_.made_on != host_mark()) return "it was saved on another host";
  return "";
}

base::FileDescriptor LaunchFolder::open_file(const std::string& name, std::uint64_t bytes) const {
  base::FileDescriptor file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const bool is_plain = name.find('/') == std::string::npos && file.valid() && ::fstat(file.get(), &status) == 0 &&
                        S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) == bytes;
  return is_plain ? std::move(file) : base::FileDescriptor();
}

bool holds_launch(const fs::path& folder) {
  const auto bytes = session::read_plain_file(folder / wire::saved_launch::kDescription, kMostDescription);
  return bytes && std::holds_alternative<SavedLaunch>(read_description(std::as_bytes(std::span(*bytes))));
}

std::optional<base::Error> complete_folder(const fs::path& path, const Surroundings& surroundings) {
  const auto bytes = session::read_plain_file(path / wire::saved_launch::kDescription, kMostDescription);
  const base::FileDescriptor folder = open_folder(path);
  if (!bytes || !folder.valid()) return base::Error{"no launch was saved in " + path.string(), ""};
  auto read = read_description(std::as_bytes(std::span(*bytes)));
  if (const auto* failure = std::get_if<base::Error>(&read)) return *failure;
  auto& launch = std::get<SavedLaunch>(read);
  const std::uint32_t code = launch.failure->code;
  launch.made_by = "cudadiag " CUDADIAG_VERSION;
  launch.made_on = host_mark();
  launch.demangled = surroundings.demangled;
  launch.failure = surroundings.failure;
  launch.failure->code = code;
  launch.gpu.bus = surroundings.bus_of(launch.device);
  std::stable_sort(launch.blocks.begin(), launch.blocks.end(), [](const Block& a, const Block& b) {
    return std::pair(!a.variable.empty(), a.address) < std::pair(!b.variable.empty(), b.address);
  });
  if (auto failure = store_texts(folder.get(), launch)) return failure;
  ::unlinkat(folder.get(), wire::saved_launch::kDescription, 0);
  return std::nullopt;
}

std::optional<base::Error> copy_folder(const LaunchFolder& from, SavedLaunch launch, const fs::path& to) {
  const base::Error failure = {"cannot write the launch to " + to.string(), "choose a new folder with --write"};
  if (::mkdir(to.c_str(), 0700) != 0) return failure;
  const base::FileDescriptor folder = open_folder(to);
  if (!folder.valid()) return failure;
  const auto copy = [&](const std::string& name, std::uint64_t bytes) {
    const base::FileDescriptor file = from.open_file(name, bytes);
    return file.valid() && copy_file(file, folder.get(), name, bytes);
  };
  if (!copy(wire::saved_launch::kImage, launch.image_bytes)) return failure;
  for (const Block& block : launch.blocks) {
    if (block.contents && !copy(block.contents->file, block.contents->bytes)) return failure;
  }
  return store_texts(folder.get(), launch);
}

}  // namespace cudadiag::replay
