#include "analyse/forward_launches.h"

#include <algorithm>

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;

// The numbers wrap around. The sign of their difference shows which number is later.
std::int32_t distance(std::uint32_t from, std::uint32_t to) { return static_cast<std::int32_t>(to - from); }

template <typename Wanted>
bool has_frame(const ProcessRecord& record, const Operation& operation, Wanted wanted) {
  const session::Site* site = session::by_id(record.sites, operation.site);
  const auto* stack = site == nullptr ? nullptr : session::by_id(record.python_stacks, site->python);
  if (stack == nullptr) return false;
  return std::ranges::any_of(stack->frames, [&](const session::RawPythonFrame& frame) {
    const session::Code* code = session::by_id(record.codes, frame.code);
    return code != nullptr && wanted(code->file, code->qualified_name);
  });
}

bool in_backward_call(const ProcessRecord& record, const Operation& operation) {
  return has_frame(record, operation, is_engine_call);
}

bool same_run(const Operation& a, const Operation& b) {
  return a.origin.graph_task != 0 && a.origin.graph_task == b.origin.graph_task;
}

}  // namespace

bool is_engine_call(const std::string& file, const std::string& function) {
  return (file.ends_with("torch/autograd/__init__.py") && (function == "backward" || function == "grad")) ||
         (file.ends_with("torch/autograd/graph.py") && function == "_engine_run_backward");
}

bool is_function_apply(const std::string& file, const std::string& function) {
  return file.ends_with("torch/autograd/function.py") && (function == "Function.apply" || function == "apply");
}

ForwardLaunches forward_launches(const ProcessRecord& record, const Operation& backward) {
  ForwardLaunches found;
  if (!has_forward(backward)) return found;
  for (const Operation& operation : record.operations) {
    if (&operation == &backward) break;
    if (operation.origin.thread != backward.origin.node_thread) continue;
    const std::int32_t after = distance(backward.origin.node, operation.origin.number);
    if (after <= 0 || operation.serial == 1) found.whole = true;
    if (after == 1 && operation.site != 0) found.claims.push_back(&operation);
  }
  return found;
}

const Operation* launch_in_backward_call(const ProcessRecord& record, const Operation& backward) {
  if (!runs_node(backward)) return nullptr;
  if (in_backward_call(record, backward)) return &backward;
  if (backward.logged) return nullptr;
  std::vector<const Operation*> latest(record.threads.size());
  for (const Operation& operation : record.operations) {
    if (&operation == &backward) break;
    if (operation.thread < latest.size()) latest[operation.thread] = &operation;
  }
  const Operation* waiting = nullptr;
  for (const Operation* operation : latest) {
    if (operation == nullptr || operation->thread == backward.thread || runs_node(*operation)) continue;
    if (!in_backward_call(record, *operation)) continue;
    if (waiting != nullptr) return nullptr;
    waiting = operation;
  }
  if (waiting == nullptr) return nullptr;
  // Every node that ran since `waiting` was issued must belong to the same backward() call as `backward`. A node of
  // another backward() call shows that the thread may be waiting inside that call instead.
  bool since = false;
  for (const Operation& operation : record.operations) {
    if (&operation == &backward) break;
    if (since && runs_node(operation) && !same_run(operation, backward)) return nullptr;
    since = since || &operation == waiting;
  }
  return backward.origin.graph_task == 0 ? nullptr : waiting;
}

std::string node_name(const ProcessRecord& record, const Operation& backward) {
  const std::string* type = session::by_id(record.node_types, backward.origin.node_type);
  if (type == nullptr) return {};
  // The type is a mangled nested name. Each part consists of its length and its text. The last part is the name of the
  // class.
  std::string_view rest = *type;
  if (rest.empty() || rest.front() != 'N') return *type;
  std::string_view last;
  for (rest.remove_prefix(1); !rest.empty() && rest.front() != 'E';) {
    std::size_t digits = 0, length = 0;
    while (digits < rest.size() && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9') {
      length = 10 * length + static_cast<std::size_t>(rest[digits++] - '0');
    }
    if (digits == 0 || length == 0 || digits + length > rest.size()) return *type;
    last = rest.substr(digits, length);
    rest.remove_prefix(digits + length);
  }
  return last.empty() ? *type : std::string(last);
}

}  // namespace cudadiag::analyse
