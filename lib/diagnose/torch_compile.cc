#include "diagnose/torch_compile.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

#include "analyse/reruns.h"
#include "base/text.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/line_resolver.h"
#include "session/session_files.h"
#include "session/user_or_library.h"
#include "symbolize/source_file.h"
#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

constexpr std::size_t kMostText = 16u << 20;
constexpr int kMostLinesAbove = 40;  // most lines between a kernel's comment and its launch

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == text.npos ? "" : text.substr(end + 1);
  }
  return lines;
}

std::string_view trim(std::string_view text) { return base::trimmed(text, " \t\r"); }

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const std::string_view each = trim(text.substr(0, comma)); !each.empty()) out.emplace_back(each);
    text = comma == text.npos ? "" : text.substr(comma + 1);
  }
  return out;
}

// Returns "x" for "x_1", because Inductor appends numbers to repeated names.
std::string_view without_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const bool numbered = last != name.npos && last > 0 && last + 1 < name.size() && name[last] == '_';
  return numbered ? name.substr(0, last) : name;
}

// Reads "# Topologically Sorted Source Nodes: [hidden, picked], Original ATen: [aten.embedding, aten.index]".
void read_comment(std::string_view comment, GeneratedKernel& kernel) {
  constexpr std::string_view kNodes = "Source Nodes: [", kFile = "# File: ", kIn = " in ";
  if (const std::size_t at = comment.find(kNodes); at != comment.npos && kernel.nodes.empty()) {
    const std::string_view rest = comment.substr(at + kNodes.size());
    for (std::string& name : listed(rest.substr(0, rest.find(']')))) kernel.nodes.push_back({std::move(name)});
  }
  // Reads "# File: /home/u/model.py:12 in forward, code: x = self.emb(idx)".
  const std::size_t in = comment.find(kIn), colon = comment.substr(0, in).rfind(':');
  if (!comment.starts_with(kFile) || in == comment.npos || colon == comment.npos || colon < kFile.size()) return;
  int line = 0;
  std::from_chars(comment.data() + colon + 1, comment.data() + in, line);
  const std::string file(comment.substr(kFile.size(), colon - kFile.size()));
  const bool another = kernel.line != 0 && (kernel.line != line || kernel.file != file);
  kernel.file = file;
  kernel.line = another ? -1 : line;
}

// Returns the name that a line calls: "triton_poi_fused_0" for "triton_poi_fused_0.run(arg0_1, buf0, 8,
// stream=stream0)".
std::string_view called_at(std::string_view line) {
  const std::string_view text = trim(line);
  const auto end = std::ranges::find_if_not(text, is_name);
  const std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  const std::string_view rest = text.substr(name.size());
  return rest.starts_with(".run(") || rest.starts_with("(") ? name : "";
}

bool launches(std::string_view line) {
  return line.find(".run(") != line.npos || line.find("extern_kernels.") != line.npos ||
         line.find("torch.ops.") != line.npos;
}

// Reads "# hidden => embedding, embedding_1".
void read_mapping(std::string_view comment, GeneratedKernel& kernel) {
  const std::size_t arrow = comment.find(" => ");
  if (!comment.starts_with("#") || arrow == comment.npos) return;
  const std::string_view name = trim(comment.substr(1, arrow - 1));
  for (SourceNode& node : kernel.nodes) {
    if (node.name != name) continue;
    for (const std::string& each : listed(comment.substr(arrow + 4))) {
      node.operators.emplace_back(without_number(each));
    }
  }
}

}  // namespace

GeneratedKernel generated_kernel_at(std::string_view generated, int line) {
  GeneratedKernel kernel;
  const std::vector<std::string_view> lines = lines_of(generated);
  if (line < 1 || static_cast<std::size_t>(line) > lines.size()) return kernel;
  const std::size_t at = static_cast<std::size_t>(line) - 1;
  // Read the comments between the previous launch and this one.
  for (std::size_t above = at; above > 0 && at - above < kMostLinesAbove && !launches(lines[above - 1]); --above) {
    const std::string_view text = trim(lines[above - 1]);
    if (text.starts_with("def ") || text.starts_with("class ")) break;
    if (text.starts_with("#")) read_comment(text, kernel);
  }
  // Read the comments above the kernel's definition.
  const std::string_view name = called_at(lines[at]);
  const std::string begin = std::string(name) + " = async_compile.";
  const auto own = std::ranges::find_if(lines, [&](auto each) { return each.starts_with(begin); });
  if (name.empty() || own == lines.end()) return kernel;
  auto first = own;
  while (first != lines.begin() && std::prev(first)->starts_with("#")) --first;
  for (auto each = first; each != own; ++each) read_comment(*each, kernel);
  for (auto each = first; each != own; ++each) read_mapping(*each, kernel);
  return kernel;
}

// ---- lines of the function

namespace {

bool indexes(const SourceNode& node) {
  static const std::set<std::string_view> kIndexing = {"embedding",        "index",
                                                       "gather",           "scatter",
                                                       "scatter_add",      "scatter_reduce",
                                                       "index_put",        "index_select",
                                                       "index_add",        "index_copy",
                                                       "index_fill",       "take",
                                                       "nll_loss_forward", "nll_loss2d_forward",
                                                       "_unsafe_index",    "_unsafe_index_put",
                                                       "embedding_bag",    "_embedding_bag",
                                                       "take_along_dim",   "one_hot"};
  return std::ranges::any_of(node.operators, [](const std::string& each) { return kIndexing.contains(each); });
}

std::size_t indentation(std::string_view line) { return line.find_first_not_of(" \t"); }

// Returns the range of lines in the body of a function whose decorators or `def` begin at line `first` (from 1). The
// body ends before the next line that is not indented further than `def`.
std::pair<std::size_t, std::size_t> body(const std::vector<std::string_view>& lines, int first) {
  std::size_t at = first < 1 ? lines.size() : static_cast<std::size_t>(first) - 1;
  while (at < lines.size() && !trim(lines[at]).starts_with("def ") && !trim(lines[at]).starts_with("async def ")) {
    if (!trim(lines[at]).starts_with("@")) return {0, 0};
    ++at;
  }
  if (at >= lines.size()) return {0, 0};
  const std::size_t depth = indentation(lines[at]);
  // The parameters may span several lines.
  std::size_t begin = at + 1;
  while (begin < lines.size() && !trim(lines[begin - 1]).ends_with(":")) ++begin;
  std::size_t end = begin;
  while (end < lines.size() && (trim(lines[end]).empty() || indentation(lines[end]) > depth)) ++end;
  return {begin, end};
}

// Returns the part of a statement before "=" or an augmented assignment such as "+="; empty if it assigns nothing.
std::string_view assigned_part(std::string_view line) {
  for (std::size_t at = line.find('='); at != line.npos && at > 0; at = line.find('=', at + 1)) {
    if (line.find_first_of("([{") < at) {
      // This "=" belongs to a keyword argument. A target with brackets, as in "a, (b, c) = f()", is too rare to matter.
      return "";
    }
    if (at + 1 < line.size() && line[at + 1] == '=') return "";
    if (std::string_view("<>!").find(line[at - 1]) != std::string_view::npos) return "";
    const std::size_t end = line.find_last_not_of("+-*/@%&|^=", at);
    return end == line.npos ? "" : line.substr(0, end + 1);
  }
  return "";
}

bool assigns(std::string_view line, std::string_view name) {
  std::string_view part = assigned_part(line);
  part = part.substr(0, part.find(':'));
  const std::vector<std::string> names = listed(part);
  return std::ranges::find(names, name) != names.end();
}

bool calls(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !is_name(line[at - 1]);
    if (begins && line.substr(at + name.size()).starts_with("(")) return true;
  }
  return false;
}

// Returns whether the line indexes a name, or the result of a call or of another index: "table[rows]".
bool has_index(std::string_view line) {
  for (std::size_t at = line.find('['); at != line.npos; at = line.find('[', at + 1)) {
    if (at > 0 && (is_name(line[at - 1]) || line[at - 1] == ')' || line[at - 1] == ']')) return true;
  }
  return false;
}

std::vector<std::size_t> lines_of_node(const std::vector<std::string_view>& lines,
                                       std::pair<std::size_t, std::size_t> part, const SourceNode& node) {
  const auto that = [&](const auto& is_it) {
    std::vector<std::size_t> out;
    for (std::size_t at = part.first; at < part.second; ++at) {
      const std::string_view code = trim(lines[at].substr(0, lines[at].find('#')));
      if (!code.empty() && is_it(code)) out.push_back(at);
    }
    return out;
  };
  const std::string_view base = without_number(node.name);
  auto found = that([&](std::string_view code) { return assigns(code, node.name) || assigns(code, base); });
  if (found.size() > 1) {
    // If several lines assign the name, keep those that call the operator.
    std::erase_if(found, [&](std::size_t at) {
      return std::ranges::none_of(node.operators, [&](const std::string& each) { return calls(lines[at], each); });
    });
    return found;
  }
  if (!found.empty()) return found;
  if (base == "getitem" || base == "index") return that(has_index);
  return that([&](std::string_view code) { return calls(code, base); });
}

}  // namespace

int line_of_nodes(std::string_view source, int first, const std::vector<SourceNode>& nodes, bool by_index) {
  const std::vector<std::string_view> lines = lines_of(source);
  const auto part = body(lines, first);
  const bool any_indexes = by_index && std::ranges::any_of(nodes, indexes);
  int line = 0;
  for (const SourceNode& node : nodes) {
    if (any_indexes && !indexes(node)) continue;
    const auto found = lines_of_node(lines, part, node);
    if (found.size() != 1) return 0;
    const int its = static_cast<int>(found[0]) + 1;
    if (line != 0 && line != its) return 0;
    line = its;
  }
  return line;
}

// ---- findings

namespace {

std::optional<Location> line_inside(const Finding& finding, const session::Code& function) {
  const auto& frames = finding.stack.python;
  const auto launch = std::ranges::find_if(frames, [](const symbolize::PythonFrame& frame) {
    return session::is_generated(frame.file) && frame.function.find("call") != std::string::npos;
  });
  // source_excerpt() returns nothing for another user's session, because a report on it contains no sources.
  const int first = static_cast<int>(function.first_line);
  if (launch == frames.end() || symbolize::source_excerpt(function.file, first, 0).empty()) return std::nullopt;
  const auto generated = session::read_named_file(launch->file, kMostText);
  if (!generated) return std::nullopt;
  const GeneratedKernel kernel = generated_kernel_at(*generated, launch->line);
  Location location;
  location.function = function.qualified_name;
  location.language = symbolize::Language::python;
  location.file = kernel.line > 0 ? kernel.file : function.file;
  location.line = kernel.line;
  if (kernel.line <= 0) {
    const auto source = session::read_named_file(function.file, kMostText);
    if (!source) return std::nullopt;
    const bool by_index = finding.code == wire::cuda::kIllegalAddress || finding.code == wire::cuda::kAssert;
    location.line = line_of_nodes(*source, first, kernel.nodes, by_index);
  }
  if (location.line < 1) return std::nullopt;
  const auto text = symbolize::source_excerpt(location.file, location.line, 0);
  if (text.empty()) return std::nullopt;
  location.source = base::trimmed(text.front().text);
  return location;
}

// The launch's stack has only one line of a compiled function, which does not depend on the kernel. Leads with the line
// inside the function, if that is known, or with the line that called it.
void lead_with(Finding& finding, const session::Code& function, const Related* inside) {
  const std::string name = analyse::whole_name(function.qualified_name);
  const auto is_it = [&](const auto& place) { return analyse::whole_name(place.function) == name; };
  const auto& frames = finding.stack.python;
  const auto own = std::ranges::find_if(frames, is_it);
  if (own == frames.end() || !own->user || !is_it(finding.location)) return;
  const auto called = std::find_if(own, frames.end(), [&](const auto& frame) { return frame.user && !is_it(frame); });
  Compiled compiled{name, {}, inside != nullptr};
  if (called != frames.end())
    compiled.called = located({called->file, called->function, symbolize::Language::python, "", "", called->line});
  const Location leads = inside != nullptr ? inside->location : compiled.called;
  if (!leads.known()) return;
  for (CandidateLine& candidate : finding.candidates) {
    if (same_line(candidate.location, finding.location)) candidate.location = leads;
  }
  finding.location = leads;
  finding.source.excerpt = symbolize::source_excerpt(leads.file, leads.line, 1);
  if (inside != nullptr && compiled.called.known()) finding.related.push_back({Role::called, compiled.called});
  finding.compiled = std::move(compiled);
}

}  // namespace

void add_compiled_lines(Diagnosis& report, const std::vector<const analyse::Failure*>& failures) {
  for (std::size_t i = 0; i < report.findings.size() && i < failures.size(); ++i) {
    Finding& finding = report.findings[i];
    const session::Code* function = analyse::compiled_function_of(*failures[i]);
    if (function == nullptr) continue;
    const auto known = [&] {
      return std::ranges::find_if(finding.related, [](const Related& related) {
        return related.role == Role::eager || related.role == Role::source;
      });
    };
    auto line = known() == finding.related.end() ? line_inside(finding, *function) : std::nullopt;
    if (line) finding.related.push_back({Role::source, std::move(*line), analyse::Fact::matched});
    const bool one_kernel =
        finding.candidates.empty() || (known() != finding.related.end() && known()->role == Role::eager);
    const std::optional<Related> inside =
        known() != finding.related.end() && one_kernel ? std::optional(*known()) : std::nullopt;
    lead_with(finding, *function, inside ? &*inside : nullptr);
  }
}

namespace {

void explain(Finding& finding, const Finding& eager) {
  if (!eager.cause || (finding.cause && (!finding.cause->proof.empty() || eager.cause->proof.empty()))) return;
  Cause cause = *eager.cause;
  cause.text += ", in the rerun without torch.compile";
  for (std::size_t& proof : cause.proof) {
    finding.arguments.push_back(eager.arguments[proof]);
    proof = finding.arguments.size() - 1;
  }
  finding.cause = std::move(cause);
  finding.fix = eager.fix;
}

// Returns the finding about this failure in the report on the reruns; null if there is none. If several processes have
// a matching finding, these findings must be at the same line.
const Finding* finding_for(const analyse::Failure& failure, const Diagnosis& report, const analyse::Analysis& analysis,
                           const session::Session& session) {
  const Finding* told = nullptr;
  for (const analyse::Failure& eager : analysis.failures) {
    if (!analyse::shows_line_of(failure, eager, session)) continue;
    const auto found = std::ranges::find_if(report.findings, [&](const Finding& finding) {
      return finding.pid == eager.process->pid && analyse::is_asynchronous(finding.kind);
    });
    if (found == report.findings.end()) return nullptr;
    if (told != nullptr && !same_line(told->location, found->location)) return nullptr;
    if (told == nullptr) told = &*found;
  }
  return told == nullptr || told->location.line == 0 ? nullptr : told;
}

}  // namespace

void add_eager(Diagnosis& report, const std::vector<const analyse::Failure*>& failures, const EagerAnswer& eager) {
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding* told = finding_for(*failures[i], *eager.diagnosis, *eager.analysis, *eager.session);
    if (told == nullptr) continue;
    Finding& finding = report.findings[i];
    finding.related.push_back({Role::eager, told->location, analyse::Fact::matched});
    if (told->code != finding.code) {
      finding.evidence.add(fmt::format("without torch.compile, the error is {} ({})", told->title, told->code));
    }
    explain(finding, *told);
    if (!finding.cause) {
      finding.fix.insert(finding.fix.begin(), "start with " + place(told->location, report.working_directory) +
                                                  ": this line fails even without torch.compile");
    }
  }
}

}  // namespace cudadiag::diagnose
