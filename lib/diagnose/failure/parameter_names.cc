#include "diagnose/failure/parameter_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "analyse/operation_arguments.h"
#include "base/text.h"
#include "diagnose/changed_sources.h"
#include "diagnose/facts/kernel_name.h"
#include "symbolize/source_file.h"

namespace cudadiag::diagnose {
namespace {

constexpr std::size_t kMostParameters = 256;
constexpr std::size_t kTritonsOwn = 2;  // global and profile scratch, since Triton 3.4

std::string_view bare(std::string_view text) { return base::trimmed(text, " \t\r\n"); }

bool is_of_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Replaces comments with spaces. Keeps strings, because they may contain a kernel's source.
std::string without_cpp_comments(std::string_view source) {
  std::string out(source);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] != '/' || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
    const bool line = out[i + 1] == '/';
    std::size_t end = line ? out.find('\n', i) : out.find("*/", i + 2);
    end = end == std::string::npos ? out.size() : end + (line ? 0 : 2);
    std::replace_if(
        out.begin() + static_cast<std::ptrdiff_t>(i), out.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return c != '\n'; }, ' ');
    i = end - 1;
  }
  return out;
}

std::string without_python_comments(std::string_view source) {
  std::string out(source);
  for (std::size_t at = out.find('#'); at != std::string::npos; at = out.find('#', at)) {
    for (; at < out.size() && out[at] != '\n'; ++at) out[at] = ' ';
  }
  return out;
}

// Returns the end of each occurrence of `word` as a whole word.
std::vector<std::size_t> ends_of_word(std::string_view text, std::string_view word) {
  std::vector<std::size_t> found;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool whole = (at == 0 || !is_of_word(text[at - 1])) && (end == text.size() || !is_of_word(text[end]));
    if (whole) found.push_back(end);
  }
  return found;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r')) ++at;
  return at;
}

// Returns the elements of the list that begins after the bracket at `open`. Splits the list only at commas outside
// nested brackets. Returns nullopt if the closing bracket is missing.
std::optional<std::vector<std::string>> elements(std::string_view text, std::size_t open) {
  std::vector<std::string> found(1);
  int depth = 0;
  for (std::size_t i = open + 1; i < text.size() && found.size() <= kMostParameters; ++i) {
    const char c = text[i];
    if (depth == 0 && c == ')') {
      for (std::string& each : found) each = std::string(bare(each));
      if (found.size() == 1 && (found[0].empty() || found[0] == "void")) found.clear();
      return found;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (depth < 0) return std::nullopt;
    if (depth == 0 && c == ',') {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  return std::nullopt;
}

bool is_part_of_type(std::string_view word) {
  constexpr std::string_view kWords[] = {"int",  "float",  "double",   "char",   "short", "long",
                                         "bool", "signed", "unsigned", "size_t", "half",  "const"};
  return word.starts_with("__") || word.ends_with("_t") || std::ranges::find(kWords, word) != std::end(kWords);
}

// Parses "const float* __restrict__ x = nullptr".
DeclaredParameter parameter_of(std::string_view text) {
  text = bare(text.substr(0, text.find('=')));
  if (text.ends_with(']')) text = bare(text.substr(0, text.rfind('[')));
  std::size_t begin = text.size();
  while (begin > 0 && is_of_word(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin), type = bare(text.substr(0, begin));
  if (name.empty() || type.empty() || is_part_of_type(name)) return {std::string(text), ""};
  return {std::string(type), std::string(name)};
}

// Returns the text between the end of the previous statement and `at`.
std::string_view statement_until(std::string_view text, std::size_t at) {
  text = text.substr(0, at);
  return text.substr(text.find_last_of(";}{#\"") + 1);  // npos + 1 is 0, for the first statement
}

// Merges another declaration into those read so far. Returns false if the declarations are of different kernels.
bool merge(std::optional<DeclaredParameters>& into, DeclaredParameters from) {
  if (!into) {
    into = std::move(from);
    return true;
  }
  if (into->size() != from.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    DeclaredParameter& known = (*into)[i];
    if (known.name.empty() && !from[i].name.empty())
      known = std::move(from[i]);
    else if (!from[i].name.empty() && from[i].name != known.name)
      known = {};
  }
  return true;
}

// Returns the size of a member's type in bytes, which is also its alignment; 0 if unknown.
std::uint32_t size_of(std::string_view type) {
  if (type.ends_with('*') || type.ends_with("* __restrict__") || type.ends_with("*__restrict__")) return 8;
  if (type.starts_with("const ")) type.remove_prefix(6);
  constexpr std::pair<std::string_view, std::uint32_t> kSizes[] = {
      {"int", 4},      {"unsigned", 4},    {"unsigned int", 4}, {"float", 4},   {"double", 8},   {"long long", 8},
      {"size_t", 8},   {"int64_t", 8},     {"uint64_t", 8},     {"int32_t", 4}, {"uint32_t", 4}, {"long", 8},
      {"bool", 1},     {"char", 1},        {"short", 2},        {"uint8_t", 1}, {"int8_t", 1},   {"int16_t", 2},
      {"uint16_t", 2}, {"std::size_t", 8}, {"CUdeviceptr", 8}};
  const auto found = std::ranges::find(kSizes, type, [](const auto& each) { return each.first; });
  return found == std::end(kSizes) ? 0 : found->second;
}

// The members of a structure, with their offsets.
struct Body {
  std::vector<std::pair<std::uint64_t, DeclaredParameter>> members;
  std::uint64_t size = 0;
};

// Reads a body such as "float* cells; int rows, width;". Returns no members if it has others than plain numbers and
// pointers.
Body body_of(std::string_view text) {
  Body body;
  std::uint64_t alignment = 1;
  while (!(text = bare(text)).empty()) {
    const std::size_t end = text.find(';');
    if (end == std::string_view::npos) return {};
    const std::string_view member = bare(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (member.find_first_of("({[:=<") != std::string_view::npos && member.find("std::") == std::string_view::npos)
      return {};
    const std::size_t comma = member.find(',');
    DeclaredParameter each = parameter_of(member.substr(0, comma));
    const std::uint32_t size = size_of(each.type);
    if (size == 0 || each.name.empty()) return {};
    // In "float *a, b", b is not a pointer.
    if (comma != std::string_view::npos && each.type.find('*') != std::string::npos) return {};
    alignment = std::max<std::uint64_t>(alignment, size);
    body.size = (body.size + size - 1) / size * size;
    std::string_view rest = comma == std::string_view::npos ? "" : member.substr(comma + 1);
    for (;;) {
      body.members.emplace_back(body.size, each);
      body.size += size;
      if (rest.empty()) break;
      const std::size_t next = rest.find(',');
      each.name = std::string(bare(rest.substr(0, next)));
      if (each.name.empty() || !std::ranges::all_of(each.name, is_of_word)) return {};
      rest = next == std::string_view::npos ? "" : rest.substr(next + 1);
    }
  }
  body.size = (body.size + alignment - 1) / alignment * alignment;
  return body;
}

// Returns the bodies of all definitions of the structure.
std::vector<Body> declared_bodies(std::string_view source, std::string_view type) {
  if (type.starts_with("const ")) type.remove_prefix(6);
  if (type.empty() || !std::ranges::all_of(type, is_of_word)) return {};
  const std::string text = without_cpp_comments(source);
  std::vector<Body> found;
  for (const std::size_t end : ends_of_word(text, type)) {
    const std::string_view statement = bare(statement_until(text, end - type.size()));
    const std::size_t open = skip_space(text, end);
    if ((statement != "struct" && statement != "typedef struct") || open == text.size() || text[open] != '{') continue;
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return {};
    found.push_back(body_of(std::string_view(text).substr(open + 1, close - open - 1)));
  }
  return found;
}

// Returns the member at this byte, if all definitions have it.
DeclaredParameter member_at(const std::vector<Body>& bodies, std::uint64_t byte) {
  DeclaredParameter out;
  for (const Body& body : bodies) {
    const auto found = std::ranges::find(body.members, byte, [](const auto& each) { return each.first; });
    if (found == body.members.end() || (!out.name.empty() && out.name != found->second.name)) return {};
    out = {out.name.empty() || out.type == found->second.type ? found->second.type : "", found->second.name};
  }
  return out;
}

}  // namespace

DeclaredParameters declared_parameters(std::string_view source, std::string_view kernel, std::size_t count) {
  if (kernel.empty()) return {};
  const std::string text = without_cpp_comments(source);
  std::optional<DeclaredParameters> known;
  for (const std::size_t end : ends_of_word(text, kernel)) {
    const std::size_t open = skip_space(text, end);
    if (open == text.size() || text[open] != '(') continue;
    if (ends_of_word(statement_until(text, end), "__global__").empty()) continue;
    const auto list = elements(text, open);
    if (!list || (count != 0 && list->size() != count)) continue;
    DeclaredParameters declared;
    for (const std::string& each : *list) declared.push_back(parameter_of(each));
    if (!merge(known, std::move(declared))) return {};
  }
  return known.value_or(DeclaredParameters());
}

DeclaredParameters declared_triton_parameters(std::string_view source, std::string_view kernel, std::size_t count) {
  if (kernel.empty()) return {};
  const std::string text = without_python_comments(source);
  std::optional<DeclaredParameters> known;
  for (const std::size_t end : ends_of_word(text, kernel)) {
    const std::size_t open = skip_space(text, end);
    const std::string_view before = bare(std::string_view(text).substr(0, end - kernel.size()));
    if (open == text.size() || text[open] != '(' || ends_of_word(before, "def").empty() ||
        ends_of_word(before, "def").back() != before.size()) {
      continue;
    }
    const auto list = elements(text, open);
    if (!list) return {};
    DeclaredParameters declared;
    for (const std::string& each : *list) {
      const std::string_view name = bare(std::string_view(each).substr(0, each.find_first_of(":=")));
      if (name.starts_with('*')) return {};
      if (each.find("constexpr") == std::string::npos && !name.empty()) declared.push_back({"", std::string(name)});
    }
    if (known) return {};
    known = std::move(declared);
  }
  if (!known || known->size() + kTritonsOwn != count) return {};
  known->resize(count);
  return *known;
}

DeclaredParameter declared_member(std::string_view source, std::string_view type, std::uint64_t byte) {
  return member_at(declared_bodies(source, type), byte);
}

DeclaredParameter declared_element(std::string_view source, std::string_view type, std::uint64_t byte) {
  for (const std::string_view qualifier : {"__restrict__", "const"}) {
    if (type.ends_with(qualifier)) type = bare(type.substr(0, type.size() - qualifier.size()));
  }
  if (!type.ends_with('*')) return {};
  const std::string_view element = bare(type.substr(0, type.size() - 1));
  if (element.ends_with('*') || element.ends_with("* const")) {
    return byte % 8 == 0 ? DeclaredParameter{std::string(element), fmt::format("[{}]", byte / 8)} : DeclaredParameter();
  }
  const std::vector<Body> bodies = declared_bodies(source, element);
  const std::uint64_t size = bodies.empty() ? 0 : bodies.front().size;
  if (size == 0 || std::ranges::any_of(bodies, [size](const Body& each) { return each.size != size; })) return {};
  DeclaredParameter member = member_at(bodies, byte % size);
  if (!member.name.empty()) member.name = fmt::format("[{}].{}", byte / size, member.name);
  return member;
}

namespace {

constexpr int kMostLines = 20000;
constexpr std::size_t kMostFiles = 8;

// Returns the files that may define the kernel, likeliest first.
std::vector<std::string> files_of(const Finding& finding) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) {
    if (file.empty() || files.size() >= kMostFiles || std::ranges::find(files, file) != files.end()) return;
    files.push_back(file);
  };
  if (finding.device) add(finding.device->file);
  add(finding.location.nearest().file);
  for (const symbolize::NativeFrame& frame : finding.stack.native) {
    if (frame.user) add(frame.file);
  }
  for (const symbolize::PythonFrame& frame : finding.stack.python) {
    if (frame.user) add(frame.file);
  }
  return files;
}

// Returns the file's text; empty if the file is missing or was written after the failure.
std::string text_of(const std::string& file, std::optional<double> met) {
  const auto written = symbolize::time_written(file);
  if (!written || !met || *written > *met) return "";
  std::string text;
  for (const symbolize::SourceLine& line : symbolize::source_excerpt(file, 1, kMostLines)) text += line.text + "\n";
  return text;
}

// Returns how many parameters the launch had; 0 if unknown.
std::size_t count_of(const Finding& finding, const analyse::Failure& failure) {
  if (const auto types = parameter_types(finding.launch->kernel); !types.empty()) return types.size();
  if (analyse::arguments_of(failure).cut) return 0;
  std::uint32_t last = 0;
  for (const Argument& argument : finding.arguments) last = std::max(last, argument.parameter);
  return last;
}

class Names {
 public:
  Names(const Finding& finding, const analyse::Failure& failure) {
    const std::string kernel = bare_kernel_name(finding.launch->kernel);
    const std::size_t count = count_of(finding, failure);
    for (const std::string& file : files_of(finding)) {
      text_ = text_of(file, met_at(failure));
      if (file.ends_with(".py")) declared_ = declared_triton_parameters(text_, kernel, count);
      if (declared_.empty()) declared_ = declared_parameters(text_, kernel, count);
      if (!declared_.empty()) return;
    }
  }

  // Returns the declared name, such as "x", "t.cells" or "rows[1].cells"; empty if unknown.
  std::string of(std::uint32_t number, std::uint32_t byte, const std::vector<std::uint64_t>& loaded = {}) const {
    if (number == 0 || number > declared_.size()) return "";
    const DeclaredParameter& parameter = declared_[number - 1];
    if (parameter.name.empty()) return "";
    const DeclaredParameter member = declared_member(text_, parameter.type, byte);
    if (member.name.empty() && byte != 0) return "";
    std::string name = parameter.name + (member.name.empty() ? "" : "." + member.name);
    std::string type = member.name.empty() ? parameter.type : member.type;
    for (const std::uint64_t offset : loaded) {
      const DeclaredParameter element = declared_element(text_, type, offset);
      if (element.name.empty()) return "";
      name += element.name;
      type = element.type;
    }
    return name;
  }

 private:
  std::string text_;
  DeclaredParameters declared_;
};

bool has_parameters(const Finding& finding) {
  if (!finding.launch || finding.launch->kernel.empty()) return false;
  if (finding.access && finding.access->parameter) return true;
  return std::ranges::any_of(finding.arguments, [](const Argument& argument) { return argument.parameter != 0; });
}

// Returns a name such as "x_ptr = x (parameter 1)".
std::string full_name(const Argument& parameter, const std::string& declared, const std::string& variable) {
  if (declared.empty() && variable.empty()) return parameter.name;
  const char* const joint = declared.empty() || variable.empty() ? "" : " = ";
  return fmt::format("{}{}{} ({})", declared, joint, variable, parameter.name);
}

}  // namespace

std::string passed_variable(const std::vector<Argument>& arguments, const Argument& parameter) {
  std::string found;
  if (parameter.parameter == 0 || parameter.pointer.value_or(0) == 0) return found;
  for (const Argument& each : arguments) {
    if (each.origin != session::NameSource::variable || each.pointer != parameter.pointer) continue;
    if (!found.empty() && found != each.name) return "";
    found = each.name;
  }
  return found;
}

void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures) {
  for (std::size_t i = 0; i < failures.size(); ++i) {
    Finding& finding = report.findings[i];
    if (!has_parameters(finding)) continue;
    const Names names(finding, *failures[i]);
    const bool own = !finding.device || finding.device->child.empty();
    if (own && finding.access && finding.access->parameter) {
      finding.access->parameter_name =
          names.of(*finding.access->parameter, finding.access->parameter_byte, finding.access->loaded);
    }
    // Addresses of the first run cannot be compared with those of a rerun.
    const bool of_one_run = failures[i]->again_process != nullptr &&
                            analyse::arguments_of(*failures[i]).process == failures[i]->again_process;
    for (Argument& argument : finding.arguments) {
      const std::string variable = of_one_run ? passed_variable(finding.arguments, argument) : "";
      argument.name =
          full_name(argument, names.of(argument.parameter, argument.parameter_byte, argument.loaded), variable);
    }
  }
}

}  // namespace cudadiag::diagnose
