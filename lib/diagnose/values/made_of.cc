#include "diagnose/values/made_of.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "diagnose/causes/argument_facts.h"
#include "diagnose/words.h"

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
  const auto found =
      std::find_if(value.elements.begin(), value.elements.end(), [&](const auto& each) { return each.first == name; });
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

std::string use_text(Use use) {
  switch (use) {
    case Use::parameter:
      return "the program wrote the NaN into a parameter";
    case Use::loss:
      return "the program started the backward pass from the NaN";
    case Use::number:
      return "the program read the NaN as a number";
    case Use::printed:
      return "the program printed the NaN";
    case Use::saved:
      return "the program saved the NaN";
    case Use::array:
      return "the program converted the NaN to an array";
    case Use::gradient:
      return "the NaN is in a gradient at the end of the program";
    case Use::exception:
      return "the program ended because of the NaN";
    case Use::compared:
      return "the program failed soon after a condition that depends on the NaN";
    case Use::refused:
      return "an operator that received the NaN raised the exception that ended the program";
    case Use::other:
      break;
  }
  return "the program used the NaN";
}

std::string_view use_word(Use use) {
  switch (use) {
    case Use::parameter:
      return "parameter";
    case Use::loss:
      return "loss";
    case Use::number:
      return "number";
    case Use::printed:
      return "printed";
    case Use::saved:
      return "saved";
    case Use::array:
      return "array";
    case Use::gradient:
      return "gradient";
    case Use::exception:
      return "exception";
    case Use::compared:
      return "compared";
    case Use::refused:
      return "refused";
    case Use::other:
      break;
  }
  return "";
}

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

std::string_view role_word(ValueRole role) {
  constexpr std::string_view kWords[] = {"made", "passed", "loaded", "uninitialised"};
  return kWords[static_cast<std::size_t>(role)];
}

}  // namespace cudadiag::diagnose
