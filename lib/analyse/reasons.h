// The reasons for an answer: clauses in the order in which they were found. Each step adds its own clauses, so that we
// can tell what a rerun added.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::analyse {

class Reasons {
 public:
  Reasons() = default;
  Reasons(std::string first) : clauses_{std::move(first)} {}        // NOLINT: an assignment replaces all clauses
  Reasons(const char* first) : Reasons(std::string(first)) {}       // NOLINT
  Reasons(std::string_view first) : Reasons(std::string(first)) {}  // NOLINT

  void add(std::string clause) { clauses_.push_back(std::move(clause)); }
  // Appends to the clause that was added last.
  void append(std::string_view text) {
    if (clauses_.empty()) clauses_.emplace_back();
    clauses_.back() += text;
  }
  void prepend(const std::string& text) {
    if (clauses_.empty()) clauses_.emplace_back();
    clauses_.front().insert(0, text);
  }

  const std::vector<std::string>& clauses() const { return clauses_; }
  bool empty() const { return clauses_.empty(); }
  std::string text() const { return joined(0); }
  // Returns the clauses added since `before`. If the list does not begin with the clauses of `before`, returns all
  // clauses.
  std::string text_since(const Reasons& before) const {
    const auto& old = before.clauses_;
    const bool grew = old.size() <= clauses_.size() && std::equal(old.begin(), old.end(), clauses_.begin());
    return joined(grew ? old.size() : 0);
  }

  bool operator==(const Reasons&) const = default;
  friend bool operator==(const Reasons& reasons, std::string_view text) { return reasons.text() == text; }

 private:
  std::string joined(std::size_t from) const {
    std::string text;
    for (std::size_t i = from; i < clauses_.size(); ++i) text += (text.empty() ? "" : "; ") + clauses_[i];
    return text;
  }

  std::vector<std::string> clauses_;
};

}  // namespace cudadiag::analyse
