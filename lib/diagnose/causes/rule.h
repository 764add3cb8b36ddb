// One entry of the table of causes. A rule fires if its whole signature matches; empty members match anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/causes/symptoms.h"

namespace cudadiag::causes {

// The facts that a rule took from the symptoms, by the names that its text uses.
struct Facts {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::size_t> proof;  // indices of the arguments that show it

  void add(std::string name, std::string value) { values.emplace_back(std::move(name), std::move(value)); }
  const std::string* find(std::string_view name) const;
};

// `often`: the text says "often" or "probably", and nothing rules out another cause.
enum class Sure { certain, often };

struct Rule {
  std::string_view id{};  // several rules may share one: what is known of the same cause differs
  Sure sure = Sure::certain;
  std::vector<std::uint32_t> codes{};
  // Conditions of assertions in PyTorch's own kernels, whole, or parts of the message that they end in.
  std::vector<std::string_view> assertions{};
  // Parts of the names of PyTorch kernels with no other assertions than these: they stand in for a text that is not
  // known, of code 710 alone unless there are no `assertions`.
  std::vector<std::string_view> kernels{};
  std::vector<std::string_view> calls{};  // parts of the name of the refused call
  // A further condition; adds the facts that the texts name.
  bool (*when)(const Symptoms&, Facts&) = nullptr;
  // "{name}" is replaced by a fact. The first text that lacks none is the cause's; steps that lack one are left out. Steps
  // and link are in the program's own words, as in_dialect() has them.
  std::vector<std::string_view> texts{};
  std::vector<std::string_view> fix{};
  std::string_view link{};
};

// `text` with its facts; nothing if one is missing.
std::optional<std::string> filled(std::string_view text, const Facts& facts);

// Chooses by dialect: "{cuda:cudaFree|cuMemFree}" becomes the part before the bar if the program uses the runtime, else
// the part after it. "{python:…|…}" and "{torch:…|…}" are for programs that use these. Without a bar the other choice
// is empty.
std::string in_dialect(std::string_view text, const Dialect& dialect);

bool fits(const Rule& rule, const Symptoms& symptoms, Facts& facts);

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts);

// Kernels of NCCL, whose names have changed with its versions.
inline bool is_of_nccl(std::string_view kernel) { return has_any(kernel, {"ncclDevKernel", "ncclKernel", "ncclSym"}); }

}  // namespace cudadiag::causes
