#include "diagnose/parameter_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "analyse/operation_arguments.h"
#include "diagnose/changed_sources.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/parameter_types.h"
#include "diagnose/values/declared_parameters.h"
#include "symbolize/file_time.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
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
    if (each.origin != session::ValueOrigin::variable || each.pointer != parameter.pointer) continue;
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
