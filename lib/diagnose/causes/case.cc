#include "diagnose/causes/case.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "diagnose/facts/kernel_name.h"
#include "symbolize/source_file.h"

namespace cudadiag::causes {
namespace {

const std::string kUnknown;

}  // namespace

const diagnose::RefusedCall& Case::refused() const {
  static const diagnose::RefusedCall none;
  return finding.refused ? *finding.refused : none;
}

const diagnose::Launch& Case::launch() const {
  static const diagnose::Launch none;
  return finding.launch ? *finding.launch : none;
}

const diagnose::Device& Case::device() const {
  static const diagnose::Device none;
  return finding.device ? *finding.device : none;
}

const diagnose::Hang& Case::hang() const {
  static const diagnose::Hang none;
  return finding.hang ? *finding.hang : none;
}

const std::string& Case::kernel() const {
  const auto& candidates = finding.candidates;
  const bool only = std::ranges::all_of(
      candidates, [&](const diagnose::CandidateLine& candidate) { return candidate.launch.kernel == launch().kernel; });
  return only ? launch().kernel : kUnknown;
}

const std::string& Case::assertion() const {
  if (device().assertions > 0) return device().message;
  return finding.device ? kUnknown : launch_message;
}

std::string Case::source() const {
  // If the file is newer than the code that ran, its text proves nothing.
  if (!finding.source.newer_than.empty()) return "";
  const bool python = finding.location.language == symbolize::Language::python;
  return std::string(symbolize::without_comment(finding.location.source, python ? "#" : "//"));
}

std::uint32_t Case::failed_elsewhere() const {
  if (report.findings.empty()) return 0;
  const diagnose::Finding& first = report.findings.front();
  return first.pid != finding.pid && analyse::is_asynchronous(first.kind) ? first.pid : 0;
}

std::string cuda_library(const symbolize::SourceStack& stack) {
  for (const symbolize::NativeFrame& frame : stack.native) {
    if (frame.user) break;
    const std::string name = std::filesystem::path(frame.module).filename().string();
    for (const std::string_view library :
         {"libcublas", "libcudnn", "libcusolver", "libcusparse", "libcufft", "libcurand", "libnccl"}) {
      if (name.starts_with(library)) return name;
    }
  }
  return "";
}

namespace {

bool any(const std::optional<std::uint64_t>& count) { return count.value_or(0) > 0; }

// Prefers the user's own variable, because its name says more than the operator's name for the parameter.
template <typename Is>
const Argument* preferred(const Case& failed, Is is) {
  const Argument* found = nullptr;
  for (const Argument& argument : failed.finding.arguments) {
    if (is(argument) && (found == nullptr || (found->origin != session::NameSource::variable &&
                                              argument.origin == session::NameSource::variable))) {
      found = &argument;
    }
  }
  return found;
}

void prove(const Case& failed, const Argument& argument, Facts& facts) {
  facts.proof.push_back(static_cast<std::size_t>(&argument - failed.finding.arguments.data()));
  facts.add("argument", argument.name);
}

void add_bound(const Argument& argument, Facts& facts) {
  facts.add("outside", std::to_string(*argument.outside));
  if (!argument.bound) return;
  facts.add("bound", std::to_string(*argument.bound));
  facts.add("last", std::to_string(*argument.bound - 1));
}

bool is_outside(const Argument& argument) { return any(argument.outside); }

}  // namespace

double real(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::string text_of(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

std::string subscript(const std::vector<std::int64_t>& index) {
  std::string text;
  for (const std::int64_t at : index) text += (text.empty() ? "[" : ",") + std::to_string(at);
  return text.empty() ? "" : text + "]";
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  // Sizes that round to 1024.0 are shown in the next unit.
  for (; size >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

bool names_refusing_call(const Case& failed, Facts& facts) {
  facts.add("call", failed.call());
  return !failed.asynchronous();
}

std::string parameter_text(const diagnose::Access& access) {
  const std::string words = diagnose::through_words(access);
  if (!access.parameter_name.empty()) return fmt::format("{} ({})", access.parameter_name, words);
  return access.loaded.empty() ? words : "the pointer at " + words;
}

void add_who(const Case& failed, Facts& facts) {
  constexpr const char* kVerbs[] = {"reads", "writes", "updates", "copies"};
  constexpr std::size_t kColumns = 60;
  const std::string& child = failed.device().child;
  const std::string kernel = diagnose::short_kernel_name(child.empty() ? failed.launch().kernel : child, kColumns);
  facts.add("kernel", kernel.empty() ? "the kernel" : kernel + "()");
  facts.add("verb", kVerbs[static_cast<int>(failed.finding.access->kind)]);
}

std::optional<std::uint64_t> extent(const Argument& argument) {
  if (argument.shape.empty()) return std::nullopt;
  const bool strided = argument.strides.size() == argument.shape.size();
  std::uint64_t last = 0, elements = 1;
  for (std::size_t i = 0; i < argument.shape.size(); ++i) {
    if (argument.shape[i] <= 0 || (strided && argument.strides[i] < 0)) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(argument.shape[i]);
    const auto stride = strided ? static_cast<std::uint64_t>(argument.strides[i]) : 0;
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(elements, size, &elements) || __builtin_mul_overflow(size - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  return strided ? last + 1 : elements;
}

std::uint64_t item_size(std::string_view dtype) {
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  if (dtype == "bool" || dtype.starts_with("float8") || dtype == "int8" || dtype == "uint8") return 1;
  if (dtype == "bfloat16" || dtype.ends_with("t16")) return 2;
  if (dtype == "complex128") return 16;
  if (dtype.ends_with("32")) return 4;
  if (dtype.ends_with("64")) return 8;
  return 0;
}

bool add_bad_index(const Case& failed, Facts& facts) {
  const Argument* bad = preferred(failed, is_outside);
  if (bad == nullptr) return false;
  prove(failed, *bad, facts);
  add_bound(*bad, facts);
  if (!bad->first_value) return true;
  facts.add("at", subscript(bad->first_outside));
  facts.add("value", text_of(*bad->first_value));
  return true;
}

bool add_bad_label(const Case& failed, Facts& facts) {
  if (!add_bad_index(failed, facts)) return false;
  const Argument& bad = failed.finding.arguments[facts.proof.back()];
  if (bad.min && bad.max && bad.bound && real(*bad.min) == 1 && real(*bad.max) == static_cast<double>(*bad.bound)) {
    facts.add("from_one", "labels from 1 to " + text_of(*bad.max));
  }
  return true;
}

bool add_bad_value(const Case& failed, Facts& facts, double most) {
  const auto beyond = [&](const Argument& argument) {
    return (argument.min && real(*argument.min) < 0) || (argument.max && real(*argument.max) > most);
  };
  // Operators check their first floating-point argument. The weights that follow may have any values.
  const auto bad = std::ranges::find_if(failed.finding.arguments, [&](const Argument& argument) {
    return argument.dtype.find("float") != std::string::npos &&
           (any(argument.nan) || any(argument.inf) || beyond(argument));
  });
  if (bad == failed.finding.arguments.end()) return false;
  prove(failed, *bad, facts);
  std::string values;
  const auto say = [&](const std::string& part) { values += (values.empty() ? "" : ", ") + part; };
  if (any(bad->nan)) say(fmt::format("{} NaN", *bad->nan));
  if (any(bad->inf)) say(fmt::format("{} infinite", *bad->inf));
  if (beyond(*bad)) {
    if (bad->min) say("min " + text_of(*bad->min));
    if (bad->max) say("max " + text_of(*bad->max));
  }
  facts.add("values", values);
  return true;
}

std::string_view torch_function(const Case& failed) {
  for (const symbolize::PythonFrame& frame : failed.finding.stack.python) {
    if (frame.user) break;
    if (frame.file.ends_with("torch/nn/functional.py")) return frame.function;
  }
  return {};
}

void add_place(Facts& facts, const char* name, const std::optional<diagnose::Location>& location,
               const std::string& directory) {
  if (location && diagnose::is_known(*location)) facts.add(name, diagnose::place(*location, directory));
}

const std::string* Facts::find(std::string_view name) const {
  const auto found = std::ranges::find_if(values, [&](const auto& fact) { return fact.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace cudadiag::causes
