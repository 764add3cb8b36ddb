// Evidence: what is known of a failure, and how well it is known.
//
// Every answer rests on facts that were observed one after the other: the completion markers leave three operations,
// the recording lacks some, a rerun waited for one of them and it failed. Each step of the analysis adds the facts that
// it finds, with the clauses that the report prints. No step sets a grade. grade() reads the facts from the oldest to
// the newest:
//
// - A fact that names what failed gives its own grade, whatever came before it. A rerun in which the operation ran
//   alone outweighs the doubts about the markers of the first run.
// - A doubt lowers the grade to its own, and never raises it. Two doubts remain, whatever comes after them: a rerun
//   failed elsewhere, or the record of the place is lost.
// - Context changes nothing. Without any fact, all that we have is a rule that matches: suspected.
//
// The grades and their meaning for readers are in diagnose/words.h.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::analyse {

enum class Grade { proven, bracketed, inferred, suspected };

enum class Fact {
  // Name what failed:
  ran_alone,        // it failed while cudadiag waited for it and nothing else was running
  raised,           // the GPU's own exception came from code that nothing else ran
  returned,         // the call itself returned the error that ended the program
  measured,         // the values, bytes or addresses themselves show it
  noted,            // the framework noted the line when it created the object
  one_running,      // completion markers leave one operation
  several_running,  // completion markers leave several operations
  matched,          // numbers, names or a schema connect the two, but nothing was measured
  then_failed,      // the program failed after this call, and perhaps because of another one
  // Leave it to a rule:
  none_running,  // no recorded operation was running
  unchecked,     // an error that the program may have seen and handled
  rule,          // a rule matches
  // Doubts:
  may_be_another,  // something that was not recorded may have failed instead
  may_be_others,   // under MPS, another process may have failed instead
  may_be_earlier,  // an earlier call may be the reason
  weaker,          // a choice among several that rests on a rule
  contradicted,    // a rerun failed elsewhere
  went_on,         // parts of the program continued after the error
  may_be_handled,  // the program may have handled the error and ended for another reason
  may_be_slow,     // the work was interrupted, and may have finished later
  place_lost,      // the record of the place is lost

  context,
};

// The grade of an answer that rests on this fact alone.
Grade grade(Fact fact);

class Evidence {
 public:
  Evidence() = default;
  Evidence(Fact fact, std::string clause) { add(fact, std::move(clause)); }

  // An empty clause adds a fact that another clause has told.
  void add(Fact fact, std::string clause = "");
  void add(std::string clause) { add(Fact::context, std::move(clause)); }
  // Extends the clause that was added last, or the first one.
  void append(std::string_view text);
  void prepend(std::string_view text);
  // Replaces the clauses and keeps the facts.
  void retell(std::string clause);
  // Returns the evidence as it would be if this fact were not known.
  Evidence without(Fact fact) const;

  Grade grade() const;
  // Returns the newest fact that names what failed; Fact::context if there is none.
  Fact basis() const;
  bool proves() const { return grade() == Grade::proven; }
  bool names_one() const { return grade() <= Grade::bracketed; }
  bool is_guess() const { return grade() == Grade::suspected; }

  const std::vector<std::string>& clauses() const { return clauses_; }
  std::string text() const { return joined(0); }
  // The clauses added since `before`: what a rerun added. If those of `before` were replaced, all clauses.
  std::string text_since(const Evidence& before) const;

  bool operator==(const Evidence&) const = default;
  friend bool operator==(const Evidence& evidence, std::string_view text) { return evidence.text() == text; }

 private:
  std::string joined(std::size_t from) const;

  std::vector<Fact> facts_;
  std::vector<std::string> clauses_;
};

}  // namespace cudadiag::analyse
