// Finds the user's line behind an operation that a library's thread issued: the line of the forward pass, or the line
// that started the thread.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "analyse/forward_launches.h"
#include "diagnose/line_resolver.h"
#include "session/session.h"

namespace cudadiag::diagnose {
namespace {

using session::Operation;
using session::Process;
using symbolize::PythonFrame;
using symbolize::SourceStack;

constexpr std::size_t kMostStacks = 32;  // most stacks to resolve for one node
constexpr int kDeepest = 4;              // most nested backward passes (create_graph) to follow

symbolize::Location frame_location(const PythonFrame& frame) {
  return {frame.file, frame.function, symbolize::Language::python, "", "", frame.line};
}

bool on_same_line(const symbolize::Location& a, const symbolize::Location& b) {
  return a.nearest().line == b.nearest().line && a.nearest().file == b.nearest().file;
}

std::string letters(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Returns the operators whose autograd code is on the stack: "index_Tensor".
std::vector<std::string_view> operators_on(const SourceStack& stack) {
  constexpr std::string_view kPlace = "VariableType::(anonymous namespace)::";
  std::vector<std::string_view> operators;
  for (const symbolize::NativeFrame& frame : stack.native) {
    const std::size_t at = frame.function.find(kPlace);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(frame.function).substr(at + kPlace.size());
    operators.push_back(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                              "0123456789_")));
  }
  return operators;
}

// Returns true if the operator creates a node of this type: index_Tensor creates "IndexBackward0", and nll_loss_forward
// creates "NllLossBackward0".
bool makes(std::string_view operator_name, std::string_view node) {
  const std::string base = letters(node.substr(0, node.rfind("Backward")));
  return !base.empty() && letters(operator_name).starts_with(base);
}

// Returns whether the node's operator only creates another view of the same memory. A view launches nothing, so
// launches with the node's number belong to another operator.
bool launches_nothing(std::string_view node) {
  static constexpr std::string_view kViews[] = {
      "Alias",  "AsStrided", "Detach",     "Diagonal",  "Expand",         "Permute",    "ReshapeAlias",
      "Select", "Slice",     "Split",      "Squeeze",   "SplitWithSizes", "T",          "Transpose",
      "Unbind", "Unfold",    "UnsafeView", "Unsqueeze", "View",           "ViewAsReal", "ViewAsComplex"};
  const std::string_view base = node.substr(0, node.rfind("Backward"));
  return std::ranges::find(kViews, base) != std::end(kViews);
}

// Returns the innermost frame of which `is` is true.
auto frame_of(const SourceStack& stack, bool (*is)(const std::string& file, const std::string& function)) {
  return std::ranges::find_if(stack.python, [&](const PythonFrame& each) { return is(each.file, each.function); });
}

// Returns the user's line that called the innermost frame of which `is` is true: autograd's engine or an
// autograd.Function.
std::optional<symbolize::Location> caller_of(const SourceStack& stack,
                                             bool (*is)(const std::string& file, const std::string& function)) {
  const auto user = std::find_if(frame_of(stack, is), stack.python.end(), [](const auto& frame) { return frame.user; });
  return user == stack.python.end() ? std::nullopt : std::optional(frame_location(*user));
}

// Returns the latest report of this kind by the operation's thread before the operation was issued; null if there is
// none.
template <typename Wanted>
const session::Delivery* latest_report(const Process& process, const Operation& operation, session::DeliveryKind kind,
                                       Wanted wanted) {
  const auto& threads = process.record.threads;
  const session::Delivery* last = nullptr;
  for (const session::Delivery& delivery : process.deliveries) {
    const bool of_thread = operation.thread < threads.size() && delivery.tid == threads[operation.thread].tid;
    if (delivery.kind == kind && of_thread && delivery.ticks <= operation.ticks && wanted(delivery)) last = &delivery;
  }
  return last;
}

class ForwardLineSearch {
 public:
  ForwardLineSearch(const Process& process, symbolize::Symbolizer& symbolizer)
      : process_(process), symbolizer_(symbolizer) {}

  ForwardLine forward_line_at(const Operation& operation, const SourceStack& stack, int depth) {
    ForwardLine found;
    if (!analyse::runs_node(operation)) return found;
    const auto is_user = [](const auto& frame) { return frame.user; };
    found.own_code = std::any_of(stack.python.begin(), frame_of(stack, analyse::is_engine_call), is_user) ||
                     std::ranges::any_of(stack.native, is_user);
    found.called = called(operation);
    if (!analyse::has_forward(operation)) return found;
    found.node = analyse::node_name(process_.record, operation);
    if (found.node.empty()) found.node = "a node of unknown type";
    if (const auto line = forward(operation, depth, found.because)) found.location = *line;
    return found;
  }

 private:
  // If the line is unknown, returns nullopt and puts the reason in `because`.
  std::optional<symbolize::Location> forward(const Operation& operation, int depth, std::string& because) {
    const std::string node = analyse::node_name(process_.record, operation);
    const analyse::ForwardLaunches found = analyse::forward_launches(process_.record, operation);
    if (found.claims.empty()) {
      because = found.whole ? "nothing was launched when this node was created"
                            : "the records from when this node was created are lost";
      return std::nullopt;
    }
    if (!found.whole) {
      because = "the records from when this node was created are lost";
      return std::nullopt;
    }
    bool operators_known = false;
    std::optional<symbolize::Location> first;
    bool several = false;
    const std::vector<const Operation*> claims = first_of_each_site(found.claims, operation);
    for (const Operation* claim : claims) {
      const session::Site* site = session::by_id(process_.record.sites, claim->site);
      const SourceStack stack = symbolizer_.stack(process_, *site);
      const auto operators = operators_on(stack);
      operators_known = operators_known || !operators.empty();
      if (node == "PyNode") {
        if (const auto line = caller_of(stack, analyse::is_function_apply)) return line;
        continue;
      }
      if (std::ranges::any_of(operators, [&](auto name) { return makes(name, node); })) {
        return line_of(*claim, *site, stack, depth, because);
      }
      // During the backward pass, a thread keeps the sequence number of the last node that it created. This launch may
      // therefore belong to a different node.
      if (analyse::runs_node(*claim) != analyse::runs_node(*claims.front())) continue;
      if (claim == claims.front()) {
        first = line_of(*claim, *site, stack, depth, because);
      } else if (!first || !on_same_line(own_line(*site, stack).location, *first)) {
        several = true;
      }
    }
    if (node == "PyNode" || operators_known || launches_nothing(node)) {
      because = "the launches with this node's sequence number belong to other operators";
      return std::nullopt;
    }
    if (several) {
      because = "the launches with this node's sequence number come from several lines";
      return std::nullopt;
    }
    if (!first && because.empty()) because = "none of your lines launched anything when this node was created";
    return first;
  }

  // Returns the first launch at each site. Skips operations that this node issued in the backward pass.
  static std::vector<const Operation*> first_of_each_site(const std::vector<const Operation*>& claims,
                                                          const Operation& operation) {
    std::vector<const Operation*> firsts;
    for (const Operation* claim : claims) {
      const session::AutogradState& origin = claim->origin;
      if (origin.node == operation.origin.node && origin.node_thread == operation.origin.node_thread) continue;
      const bool seen = std::ranges::any_of(firsts, [&](const Operation* other) { return other->site == claim->site; });
      if (!seen && firsts.size() < kMostStacks) firsts.push_back(claim);
    }
    return firsts;
  }

  symbolize::TrueLine own_line(const session::Site& site, const SourceStack& stack) {
    const std::string* kernel = session::by_id(process_.record.functions, site.function);
    return symbolizer_.true_line(stack, kernel == nullptr ? "" : *kernel);
  }

  // If a backward pass created the node (create_graph), its forward line is the forward line of the node that was
  // running.
  std::optional<symbolize::Location> line_of(const Operation& claim, const session::Site& site,
                                             const SourceStack& stack, int depth, std::string& because) {
    const symbolize::TrueLine line = own_line(site, stack);
    if (line.user && line.location.known() && !analyse::runs_node(claim)) return line.location;
    if (analyse::runs_node(claim) && depth < kDeepest) {
      ForwardLine own = forward_line_at(claim, stack, depth + 1);
      if (own.own_code && line.location.known()) return line.location;
      if (own.location.known()) return own.location;
      because = own.because;
    }
    return std::nullopt;
  }

  symbolize::Location called(const Operation& operation) {
    const Operation* inside = analyse::launch_in_backward_call(process_.record, operation);
    const session::Site* site = inside == nullptr ? nullptr : session::by_id(process_.record.sites, inside->site);
    if (site == nullptr) return {};
    return caller_of(symbolizer_.stack(process_, *site), analyse::is_engine_call).value_or(symbolize::Location{});
  }

  const Process& process_;
  symbolize::Symbolizer& symbolizer_;
};

}  // namespace

ForwardLine forward_line(const Process& process, const Operation& operation, const SourceStack& stack,
                         symbolize::Symbolizer& symbolizer) {
  return ForwardLineSearch(process, symbolizer).forward_line_at(operation, stack, 0);
}

namespace {

// Returns the hook's report about the node that issued the operation. Returns null if no node issued it, or if the
// report is about a different node.
const session::Delivery* node_of(const Process& process, const Operation& operation) {
  if (!analyse::has_forward(operation)) return nullptr;
  const session::Delivery* last =
      latest_report(process, operation, session::DeliveryKind::forward, [](const auto&) { return true; });
  if (last == nullptr || static_cast<std::uint32_t>(last->number) != operation.origin.node) return nullptr;
  const std::string type = analyse::node_name(process.record, operation);
  const bool same = !last->node.empty() && (type.empty() || type == "PyNode" || type == last->node);
  return same ? last : nullptr;
}

}  // namespace

void prove_forward_line(ForwardLine& forward, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer) {
  if (failure.again == nullptr || failure.again_process == nullptr) return;
  const session::Delivery* node = node_of(*failure.again_process, *failure.again);
  if (node == nullptr) return;
  for (const auto& frames : node->stacks) {
    const SourceStack stack = symbolizer.stack(*failure.again_process, frames);
    const auto user = std::ranges::find_if(stack.python, &PythonFrame::user);
    if (user == stack.python.end()) continue;
    forward.node = node->node;
    forward.location = frame_location(*user);
    forward.because.clear();
    forward.proven = true;
    return;
  }
}

namespace {

// Returns the latest start reported for the operation's thread, if the reported line is on the operation's stack. A
// pool's thread reports a start for each piece of work.
const session::Delivery* start_of(const session::Process& process, const session::Operation& operation,
                                  symbolize::Symbolizer& symbolizer) {
  const session::Site* site = session::by_id(process.record.sites, operation.site);
  if (site == nullptr) return nullptr;
  const auto frames = symbolizer.stack(process, *site).python;
  const auto is_on_stack = [&](const session::Delivery& delivery) {
    return !delivery.file.empty() && std::ranges::any_of(frames, [&](const auto& frame) {
      return frame.line == delivery.line && frame.file.ends_with(delivery.file);
    });
  };
  return latest_report(process, operation, session::DeliveryKind::started, is_on_stack);
}

}  // namespace

std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer) {
  if (line.user || failure.again == nullptr || failure.again_process == nullptr) return std::nullopt;
  const session::Delivery* told = start_of(*failure.again_process, *failure.again, symbolizer);
  if (told == nullptr) return std::nullopt;
  ThreadStart start{located(line.location), told->pool, {}};
  for (const auto& frames : told->stacks) {
    const auto stack = symbolizer.stack(*failure.again_process, frames).python;
    start.stack.insert(start.stack.end(), stack.begin(), stack.end());
    const auto user = std::ranges::find_if(stack, &PythonFrame::user);
    if (user == stack.end()) continue;
    line = {frame_location(*user), {}, true, false};
    return start;
  }
  return std::nullopt;
}

}  // namespace cudadiag::diagnose
