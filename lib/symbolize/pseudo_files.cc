#include "symbolize/pseudo_files.h"

namespace cudadiag::symbolize {
namespace {

constexpr std::string_view kInput = "<ipython-input-";
constexpr std::string_view kCellFiles[] = {"/ipykernel_", "/ipython-input-", "/__marimo__cell_"};

std::string_view archive_in(std::string_view file) {
  for (const std::string_view suffix : {".zip/", ".pyz/", ".egg/", ".whl/", ".par/", ".pex/"}) {
    if (const auto at = file.find(suffix); at != file.npos) return file.substr(0, at + suffix.size() - 1);
  }
  return {};
}

}  // namespace

bool is_cell_of_magic(std::string_view file) {
  return file == "<timed exec>" || file == "<timed eval>" || file == "<magic-timeit>";
}

std::string cell_name(std::string_view file) {
  if (file.starts_with(kInput)) {
    const auto number = file.substr(kInput.size());
    return "cell In[" + std::string(number.substr(0, number.find_first_not_of("0123456789"))) + "]";
  }
  for (const std::string_view part : kCellFiles) {
    if (const auto at = file.rfind(part); at != file.npos) return "cell " + std::string(file.substr(at + 1));
  }
  return "";
}

std::string why_no_source(std::string_view file) {
  if (!cell_name(file).empty()) return "a notebook cell, whose text is not on disk";
  if (is_cell_of_magic(file)) return "a notebook cell that begins with a magic command; its text is not on disk";
  if (file == "<string>" || file == "<timeit-src>") return "code from a string or from python -c";
  for (const std::string_view typed : {"<stdin>", "<console>", "<input>", "<python-input-"}) {
    if (file.starts_with(typed)) return "code that was read from standard input";
  }
  if (const auto archive = archive_in(file); !archive.empty()) return "code inside " + std::string(archive);
  return "";
}

}  // namespace cudadiag::symbolize
