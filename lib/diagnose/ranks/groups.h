// Why a job of several groups of ranks stands still, resolved and worded.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyse/hangs/group_answer.h"
#include "diagnose/causes/symptoms.h"
#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// A rank's process, where it is read.
struct RecordedRank {
  const session::Session& session;
  const session::Process& process;
  symbolize::Symbolizer& symbolizer;
};

// `recorded`: by index in `states`; asked only for ranks that differ from all before.
GroupsPart groups_part(const analyse::GroupAnswer& answer, std::span<const analyse::RankState> states,
                       const std::function<RecordedRank(std::size_t state)>& recorded);

// The answer in one sentence: "rank 2 never came to all_reduce 481 of group tp1: its last work was at model.py:212".
std::string group_sentence(const GroupsPart& part, const std::string& directory);

// A line for what each of the ranks does; ranks with the same text share a line.
std::vector<std::string> group_lines(const GroupsPart& part, const std::string& directory);

// For the rules of a hang in a collective.
void add_groups(causes::Symptoms& symptoms, const GroupsPart& part, const std::string& directory);

// Adds it to the note on the ranks.
void add_groups_note(std::vector<analyse::Note>& notes, const GroupsPart& part, const std::string& directory);

// The answer for the whole job, before that for one of its processes; empty: its groups are not known, or none waits.
std::string job_sentence(const Diagnosis& report);
// A line for each of the job's ranks, by its groups if they are known; empty: there are none.
std::vector<std::string> job_lines(const Diagnosis& report);

}  // namespace cudadiag::diagnose
