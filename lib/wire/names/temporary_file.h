// Recognises files that a program generates for itself, by the random part of their names. The random part differs from
// run to run. Only the path is examined, so that the recorder and the analysis of a session get the same result. The
// files must be below a folder named `tmp`. If TMPDIR names a different folder, its files are not recognised.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudadiag::wire::temporary_file {

// The number of random characters in names from Python's tempfile: `nn.sage_conv_q9dx4sbc.py`, `tmpab12cd_3`.
inline constexpr std::size_t kDrawn = 8;

constexpr bool is_drawn(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Returns true if the beginning of a file's name shows that the file was generated. Authors do not choose names like
// these. Generated code is named after the module of a class, so the name has dots or is `__main__`. PyTorch Geometric
// uses the class name and one of two endings instead.
constexpr bool begins_as_generated(std::string_view name) {
  constexpr std::string_view kMain = "__main__", kEnds[] = {"_propagate_", "_edge_updater_"};
  if (name.starts_with(kMain)) return true;
  bool has_class = false;
  for (const char c : name) has_class = has_class || (c >= 'A' && c <= 'Z');
  for (const std::string_view end : kEnds) {
    if (has_class && name.ends_with(end)) return true;
  }
  return name.find('.') != name.npos && (name.back() == '_' || !is_drawn(name.back()));
}

// Returns the position of the random characters in a file or folder name, before its last suffix; npos if there are
// none. Eight of these characters may also form an ordinary word. They are therefore accepted only after tempfile's
// prefix `tmp`, or in names of generated code. Must not throw, because exceptions would link the C++ runtime into the
// recorder.
constexpr std::size_t drawn_at(std::string_view name, bool is_folder) {
  const std::size_t dot = is_folder ? name.npos : name.rfind('.');
  const std::size_t end = dot == name.npos ? name.size() : dot;
  if (end <= kDrawn) return name.npos;
  const std::size_t at = end - kDrawn;
  for (std::size_t i = at; i < end; ++i) {
    if (!is_drawn(name[i])) return name.npos;
  }
  const std::string_view before(name.data(), at);
  return before == "tmp" || (!is_folder && begins_as_generated(before)) ? at : name.npos;
}

// Calls `visit(part)` for each part of the path that is the same in every run. Returns true if the path has random
// parts.
template <typename Visit>
constexpr bool visit_lasting(std::string_view path, Visit visit) {
  constexpr std::string_view kFolder = "/tmp/";
  std::size_t begin = 0;
  const std::size_t folder = path.find(kFolder);
  std::size_t at = folder == path.npos ? path.size() : folder + kFolder.size();
  while (at < path.size()) {
    const std::size_t slash = path.find('/', at);
    const std::size_t end = slash == path.npos ? path.size() : slash;
    const std::size_t drawn = drawn_at({path.data() + at, end - at}, slash != path.npos);
    if (drawn != path.npos) {
      visit(std::string_view(path.data() + begin, at + drawn - begin));
      begin = at + drawn + kDrawn;
    }
    at = end + 1;
  }
  visit(std::string_view(path.data() + begin, path.size() - begin));
  return begin > 0;
}

// Returns true if the name shows that the program generated the file.
constexpr bool is_made_by_program(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos || path.find("/tmp/") == path.npos) return false;
  const std::string_view name(path.data() + slash + 1, path.size() - slash - 1);
  return drawn_at(name, false) != name.npos;
}

}  // namespace cudadiag::wire::temporary_file
