#include "launch/isolation/seen_path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the kernel's limit

std::string own_folder(pid_t process) { return "/proc/" + std::to_string(process); }

// Replaces names such as /proc/self. If this process opened such a name, it would get its own entry.
std::string as_of(pid_t process, const std::string& path) {
  const std::string own = own_folder(process);
  const std::pair<std::string_view, std::string> names[] = {
      {"/proc/self", own},           {"/proc/thread-self", own},     {"/dev/fd", own + "/fd"},
      {"/dev/stdin", own + "/fd/0"}, {"/dev/stdout", own + "/fd/1"}, {"/dev/stderr", own + "/fd/2"}};
  for (const auto& [name, meant] : names) {
    if (path == name || (path.starts_with(name) && path[name.size()] == '/')) return meant + path.substr(name.size());
  }
  return path;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  return real ? real.get() : "";
}

std::optional<std::string> link_text(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// Matches "pipe:[7]", "socket:[7]" and "/memfd:name (deleted)".
bool is_no_file(const std::string& text) { return text.empty() || text[0] != '/' || text.starts_with("/memfd:"); }

std::string start_of(pid_t process, int folder) {
  const std::string own = own_folder(process);
  return link_text(folder == AT_FDCWD ? own + "/cwd" : own + "/fd/" + std::to_string(folder)).value_or("");
}

SeenPath existing(const std::string& path) {
  const std::string real = real_path(path);
  return {real.empty() ? path : real, true, !real.empty(), !real.empty()};
}

}  // namespace

SeenPath see_path(pid_t process, int folder, const std::string& path, bool follows) {
  if (path.empty()) return {};
  std::string full = path[0] == '/' ? path : start_of(process, folder) + "/" + path;
  for (int links = 0; links < kMostLinks; ++links) {
    full = as_of(process, full);
    while (full.size() > 1 && full.back() == '/') full.pop_back();
    const std::size_t slash = full.rfind('/');
    if (slash == std::string::npos) return {};
    const std::string name = full.substr(slash + 1);
    if (name.empty() || name == "." || name == "..") return existing(full);
    const std::string parent = real_path(slash == 0 ? "/" : full.substr(0, slash));
    if (parent.empty()) return {full, true, false, false};
    const std::string here = (parent == "/" ? "" : parent) + "/" + name;
    struct stat status {};
    if (::lstat(here.c_str(), &status) != 0) return {here, true, true, false};
    if (!follows || !S_ISLNK(status.st_mode)) return {here, true, true, true};
    const std::string text = link_text(here).value_or("");
    const bool is_descriptor = parent.starts_with("/proc/") && parent.ends_with("/fd");
    if (is_descriptor && is_no_file(text)) return {text, false, true, true};
    full = text.starts_with('/') ? text : parent + "/" + text;
  }
  return {};
}

SeenPath see_descriptor(pid_t process, int descriptor) {
  const std::string text = link_text(own_folder(process) + "/fd/" + std::to_string(descriptor)).value_or("");
  if (is_no_file(text)) return {text, false, true, true};
  return {text, true, true, true};
}

}  // namespace cudadiag::launch
