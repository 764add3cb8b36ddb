// Adds the findings of `cudadiag nans`. Each names the first operator whose result was not finite and was used.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/hook_values.h"
#include "diagnose/line_resolver.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "session/hook_output.h"

namespace cudadiag::diagnose {
namespace {

using session::DeliveredNonFinite;
using Use = DeliveredNonFinite::Use;
using ValueRole = DeliveredNonFinite::Role;

// Returns "div" for "aten::div_".
std::string base_name(std::string_view op) {
  const std::size_t colon = op.rfind(':');
  std::string name(colon == std::string_view::npos ? op : op.substr(colon + 1));
  if (name.ends_with('_')) name.pop_back();
  return name;
}

// Returns "0" for "0.0".
std::string number(std::string text) {
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

const std::string* element(const DeliveredNonFinite& value, std::string_view name) {
  const auto found = std::ranges::find_if(value.elements, [&](const auto& each) { return each.first == name; });
  return found == value.elements.end() ? nullptr : &found->second;
}

// Returns the computation, such as "0 / 0"; empty if the elements of the arguments are unknown.
std::string computation(const std::string& name, const DeliveredNonFinite& value) {
  constexpr std::pair<std::string_view, std::string_view> kBetween[] = {
      {"div", " / "},       {"sub", " - "},           {"mul", " * "}, {"add", " + "}, {"pow", " to the power of "},
      {"fmod", " modulo "}, {"remainder", " modulo "}};
  const std::string* self = element(value, "self");
  const std::string* other = element(value, name == "pow" ? "exponent" : "other");
  for (const auto& [op, words] : kBetween) {
    if (name == op && self != nullptr && other != nullptr) return number(*self) + std::string(words) + number(*other);
  }
  const bool alone = value.elements.size() == 1 && self != nullptr;
  if (alone) return fmt::format("{} of {}", name == "sqrt" ? "the square root" : name, number(*self));
  std::string text;
  for (const auto& [argument, found] : value.elements) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", argument, number(found));
  }
  return text.empty() ? "" : fmt::format("{} of {}", name, text);
}

std::string result_text(const DeliveredNonFinite& value) {
  if (!value.bad) return "";
  std::string text = value.index.empty() ? "" : fmt::format("element {} of ", causes::subscript(value.index));
  text += fmt::format("a {}{} result", value.dtype, value.shape.empty() ? "" : causes::subscript(value.shape));
  if (*value.bad > 1) text += fmt::format(", {} bad elements in all", thousands(*value.bad));
  return text;
}

std::string with_result(std::string text, const DeliveredNonFinite& value) {
  const std::string result = result_text(value);
  return result.empty() ? text : text + ": " + result;
}

// Returns a clause such as "; self has 3 infinite elements".
std::string inputs_text(const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    if (argument.inf.value_or(0) == 0) continue;
    return fmt::format("; {} has {} infinite element{}", argument.name, thousands(*argument.inf),
                       *argument.inf == 1 ? "" : "s");
  }
  return "";
}

// A report says in these words how the program used the NaN.
constexpr base::Words<Use, 11> kUses = {{
    {Use::parameter, "the program wrote the NaN into a parameter"},
    {Use::loss, "the program started the backward pass from the NaN"},
    {Use::number, "the program read the NaN as a number"},
    {Use::printed, "the program printed the NaN"},
    {Use::saved, "the program saved the NaN"},
    {Use::array, "the program converted the NaN to an array"},
    {Use::gradient, "the NaN is in a gradient at the end of the program"},
    {Use::exception, "the program ended because of the NaN"},
    {Use::compared, "the program failed soon after a condition that depends on the NaN"},
    {Use::refused, "an operator that received the NaN raised the exception that ended the program"},
    {Use::other, "the program used the NaN"},
}};

}  // namespace

std::string made_of(std::string_view op, const DeliveredNonFinite& value, const std::vector<Argument>& arguments) {
  switch (value.role) {
    case ValueRole::passed:
      return with_result(fmt::format("the number NaN was passed to {}", op), value);
    case ValueRole::loaded:
      if (base_name(op) == "lift_fresh") return with_result("the data of this tensor contained NaN", value);
      return with_result(fmt::format("an argument of {} contained NaN that no PyTorch operator produced", op), value);
    case ValueRole::uninitialised:
      return with_result(fmt::format("{} read memory from torch.empty() that no operator had written", op), value);
    case ValueRole::made:
      break;
  }
  const std::string computed = computation(base_name(op), value);
  if (!computed.empty()) return with_result(computed + " is NaN", value);
  return with_result(fmt::format("{} produced NaN", op), value) + inputs_text(arguments);
}

namespace {

// Returns advice; empty if we have none.
std::string remedy(std::string_view op, const DeliveredNonFinite& value) {
  if (value.role == ValueRole::loaded) return "check the data where it enters: assert torch.isfinite(x).all()";
  if (value.role == ValueRole::uninitialised)
    return "write the tensor before it is read, or create it with torch.zeros()";
  if (value.role != ValueRole::made) return "";
  const std::string name = base_name(op);
  if (!value.node.empty()) {
    if (value.node.starts_with("Sqrt") || value.node.starts_with("Norm") ||
        value.node.starts_with("LinalgVectorNorm")) {
      return "the derivative of a root is infinite at 0: add a small number under the root, sqrt(x + 1e-12)";
    }
    return "if where() hides the bad elements in the forward pass, pass valid elements to the function itself: "
           "f(torch.where(mask, x, 1))";
  }
  if (name == "div") return "keep the divisor away from 0: x / y.clamp(min=1e-8), or divide only where it is not 0";
  if (name.starts_with("log")) return "keep the argument positive: torch.log(x.clamp(min=1e-8))";
  if (name == "sqrt" || name == "rsqrt") return "keep the argument from going below 0: x.clamp(min=0)";
  if (name == "acos" || name == "asin") return "keep the argument between -1 and 1: x.clamp(-1, 1)";
  if (name == "pow") return "a negative base has no real fractional power: keep the base positive";
  const bool masked = value.infinite.empty() || value.infinite.find("fill") != std::string::npos ||
                      value.infinite.find("full") != std::string::npos;
  if (masked && name.find("softmax") != std::string::npos) return "give each row at least one element that is not -inf";
  if (name == "mean" || name == "std" || name == "var") return "make sure that there are elements to average";
  if (!value.infinite.empty())
    return "keep the values from overflowing, for example with a wider type or a smaller scale";
  return "";
}

using session::Delivery;
using ValueState = DeliveredNonFinite::State;

bool ended_badly(const session::Session& session, std::uint32_t pid) {
  const auto& ends = session.manifest.ends;
  const auto own = ends.find(pid);
  if (own == ends.end()) return false;
  return own->second.signal.has_value() || own->second.code.value_or(0) != 0;
}

// Returns whether this use is only weak evidence: it does not show that the program kept the NaN or ended because of
// it.
bool is_weak(const DeliveredNonFinite& value) {
  return value.use == Use::number || value.use == Use::array || value.use == Use::compared || value.use == Use::refused;
}

// Returns the use of a NaN to report; null if the program used none. Takes the first of these that exists:
// - if any use has a lasting effect: the lasting use or the loss whose value became bad first
// - the first use that the program did not check
// - the last value that the program checked before it failed
// - the first use that is only weak evidence
const Delivery* first_used(const session::Session& session, const session::Process& process) {
  std::set<std::uint64_t> asked;
  for (const Delivery& delivery : process.deliveries) {
    if (delivery.non_finite && delivery.non_finite->state == ValueState::asked) asked.insert(delivery.non_finite->root);
  }
  const Delivery *lasting = nullptr, *other = nullptr, *last = nullptr, *weak = nullptr;
  bool any_found = false;
  for (const Delivery& delivery : process.deliveries) {
    if (!delivery.non_finite || delivery.non_finite->state == ValueState::asked) continue;
    const DeliveredNonFinite& value = *delivery.non_finite;
    const bool is_found = value.state == ValueState::found;
    if (value.state == ValueState::asked_last) {
      if (!ended_badly(session, process.pid)) continue;
      if (!is_weak(value)) last = &delivery;
    } else if (!is_found && asked.contains(value.root)) {
      continue;
    }
    if (is_weak(value) && weak == nullptr) weak = &delivery;
    if (is_weak(value) || value.state == ValueState::asked_last) continue;
    any_found = any_found || is_found;
    const bool leads = is_found || value.use == Use::loss;
    const std::uint64_t first = lasting == nullptr ? UINT64_MAX : lasting->non_finite->root;
    if (leads && (value.root < first || (is_found && value.root == first))) lasting = &delivery;
    if (other == nullptr) other = &delivery;
  }
  if (any_found) return lasting;
  if (other != nullptr) return other;
  return last != nullptr ? last : weak;
}

class NonFiniteBuilder {
 public:
  NonFiniteBuilder(const session::Session& session, const session::Process& process, const Delivery& delivery,
                   const symbolize::Symbolizer& symbolizer)
      : session_(session),
        process_(process),
        delivery_(delivery),
        value_(*delivery.non_finite),
        symbolizer_(symbolizer) {}

  Finding build() {
    finding_ =
        finding_in(process_, session_, analyse::Kind::non_finite, value_.role == ValueRole::made ? "first NaN" : "NaN");
    finding_.text = is_weak(value_) ? "A NaN that the program may use."
                                    : "The first NaN that led to a result that the program uses.";
    lead();
    relate();
    for (const session::DeliveredValue& argument : delivery_.values) finding_.arguments.push_back({argument});
    explain();
    weigh();
    return std::move(finding_);
  }

 private:
  std::string operator_name() const {
    return delivery_.op + (delivery_.overload.empty() ? "" : "." + delivery_.overload);
  }

  Location line_of(const std::vector<session::DeliveredFrame>& frames) const {
    return located(line_of_user(symbolizer_.stack(process_, frames)));
  }

  // Sets the finding's location to the user's line on the operator's stack. If the stack has none, uses the line that
  // created the operator's autograd node, or else the line that called backward().
  void lead() {
    symbolize::SourceStack stack = symbolizer_.stack(process_, value_.stack);
    Location own = located(line_of_user(stack));
    const bool own_code = own.line > 0;
    const Location forward = line_of(value_.forward), backward = line_of(value_.backward);
    if (!value_.node.empty()) {
      finding_.backward =
          Backward{value_.node, "cudadiag did not keep the stack of the call that created this node", false};
      if (forward.line > 0) {
        const auto known_by = value_.forward_certain ? analyse::Fact::noted : analyse::Fact::matched;
        finding_.related.push_back({diagnose::Role::forward, forward, known_by});
        finding_.backward->leads = !own_code;
      }
      if (backward.line > 0) finding_.related.push_back({diagnose::Role::backward, backward});
    }
    if (!own_code && forward.line > 0) stack = symbolizer_.stack(process_, value_.forward);
    lead_with(finding_, own_code ? std::move(own) : forward.line > 0 ? forward : backward, std::move(stack));
  }

  void relate() {
    if (const Location made = line_of(value_.infinite_stack); made.line > 0) {
      finding_.related.push_back({diagnose::Role::infinite, made});
    }
    if (const Location used = line_of(value_.uses); used.line > 0)
      finding_.related.push_back({diagnose::Role::used, used});
  }

  void explain() {
    Cause& cause = finding_.cause.emplace();
    cause.id = "non-finite";
    cause.text = made_of(delivery_.op, value_, finding_.arguments);
    if (value_.role == ValueRole::made && !value_.infinite.empty()) {
      cause.text += fmt::format("; the infinite element was produced by {}", value_.infinite);
      const Location made = line_of(value_.infinite_stack);
      if (made.line > 0) cause.text += " at " + place(made, session_.manifest.working_directory);
    }
    cause.certain = value_.role == ValueRole::made;
    const auto fact = [&](const char* name, const std::string& text) {
      if (!text.empty()) cause.facts.emplace_back(name, text);
    };
    fact("operator", operator_name());
    fact("pass", value_.node.empty() ? "forward" : "backward");
    fact("node", value_.node);
    fact("role", std::string(word(value_.role)));
    if (value_.bad) fact("index", causes::subscript(value_.index));
    if (value_.bad) fact("elements", std::to_string(*value_.bad));
    for (const auto& [name, element] : value_.elements) fact(("input " + name).c_str(), element);
    if (value_.step > 0) fact("step", std::to_string(value_.step));
    if (value_.module) cause.facts.emplace_back("module", *value_.module);
    fact("module_class", value_.module_class);
    fact("used", std::string(word(value_.use)));
    fact("infinite", value_.infinite);
    if (std::string step = remedy(delivery_.op, value_); !step.empty()) finding_.fix.push_back(std::move(step));
  }

  void weigh() {
    using analyse::Fact;
    analyse::Evidence& evidence = finding_.evidence;
    if (value_.role == ValueRole::passed) {
      evidence = {Fact::measured, "the number passed to this operator is NaN"};
    } else if (value_.role == ValueRole::made) {
      evidence = {Fact::measured,
                  "the result of each operator was checked, and no input of this operator contained NaN"};
    } else {
      evidence = {Fact::matched, "no checked operator produced this NaN; it is the first NaN that was read"};
    }
    const bool line_certain = value_.node.empty() || !finding_.backward->leads || value_.forward_certain;
    if (!line_certain) evidence.add(Fact::weaker);
    evidence.add(std::string(base::word_of(kUses, value_.use)));
    for (const Related& related : finding_.related) {
      if (related.role == diagnose::Role::used)
        finding_.evidence.append(" at " + place(related.location, session_.manifest.working_directory));
    }
    if (value_.step > 0) finding_.evidence.append(fmt::format(", in step {}", thousands(value_.step)));
    if (is_weak(value_))
      finding_.evidence.add(analyse::Fact::may_be_handled, "cudadiag cannot tell whether the program handles this NaN");
  }

  const session::Session& session_;
  const session::Process& process_;
  const Delivery& delivery_;
  const DeliveredNonFinite& value_;
  const symbolize::Symbolizer& symbolizer_;
  Finding finding_;
};

}  // namespace

void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer) {
  std::vector<Finding> found;
  for (const session::Process& process : session.processes) {
    for (const Delivery& delivery : process.deliveries) {
      if (delivery.kind == session::DeliveryKind::note)
        report.notes.push_back({analyse::NoteCode::checks_ended, delivery.text});
      if (delivery.kind == session::DeliveryKind::checking && report.torch.empty()) report.torch = delivery.text;
    }
    const Delivery* first = first_used(session, process);
    if (first != nullptr) found.push_back(NonFiniteBuilder(session, process, *first, symbolizer).build());
  }
  std::ranges::stable_sort(found, {}, &Finding::pid);
  std::move(found.begin(), found.end(), std::back_inserter(report.findings));
}

}  // namespace cudadiag::diagnose
