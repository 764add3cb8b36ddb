#include "diagnose/facts/place.h"

#include <fmt/core.h>

#include "base/text.h"
#include "symbolize/user_code.h"

namespace cudadiag::diagnose {

bool same_line(const Location& a, const Location& b) {
  if (a.line != b.line || a.file != b.file) return false;
  if (a.line > 0) return true;
  const Location &x = a.nearest(), &y = b.nearest();
  return !a.function.empty() && a.function == b.function && a.module == b.module && x.line == y.line &&
         x.file == y.file;
}

std::string_view path_inside(std::string_view file, std::string_view directory) {
  if (directory.ends_with('/')) directory.remove_suffix(1);
  // `directory` is empty here if it was "/". Every path is in "/", so no path is shown relative to it.
  const bool inside = !directory.empty() && file.size() > directory.size() + 1 && file.starts_with(directory) &&
                      file[directory.size()] == '/';
  return inside ? file.substr(directory.size() + 1) : std::string_view();
}

std::string relative_path(const std::string& file, const std::string& directory) {
  if (const std::string cell = symbolize::cell_name(file); !cell.empty()) return base::printable(cell);
  const std::string_view inside = path_inside(file, directory);
  return base::printable(inside.empty() ? file : inside);
}

Location with_file_name(Location location) {
  if (symbolize::cell_name(location.file).empty()) {
    location.file = base::file_name(location.file);
  }
  return location;
}

std::string_view without_parameters(std::string_view function) {
  std::string_view name = function;
  if (const std::size_t clone = name.find(" [clone "); clone != name.npos) name = name.substr(0, clone);
  constexpr std::string_view kConst = " const";
  if (name.ends_with(kConst)) name.remove_suffix(kConst.size());
  if (!name.ends_with(')')) return function;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at == 0 ? function : name.substr(0, at);
  }
  return function;
}

namespace {

std::string own_place(const Location& location, const std::string& directory) {
  const std::string function = base::printable(without_parameters(location.function));
  if (!location.file.empty()) {
    const std::string line = location.line > 0 ? fmt::format(":{}", location.line) : " (line unknown)";
    return fmt::format("{}{}{}{}", relative_path(location.file, directory), line, function.empty() ? "" : ", ",
                       function);
  }
  const std::string module = base::printable(base::file_name(location.module));
  if (function.empty() && module.empty()) return "an unknown place";
  if (function.empty()) {
    return module + (location.offset > 0 ? fmt::format("+{:#x}", location.offset) : "") + " (line unknown)";
  }
  return fmt::format("{} ({}line unknown)", function, module.empty() ? "" : module + ", ");
}

}  // namespace

std::string place(const Location& location, const std::string& directory) {
  std::string text = own_place(location, directory);
  for (const Location& outer : location.called_from) text += ", called from " + own_place(outer, directory);
  return text;
}

}  // namespace cudadiag::diagnose
