// Notes and reasons that come from comparing reruns with each other and with the first run.
#pragma once

#include <cstddef>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Adds notes that the first run did not have. `number` is the number of the rerun, from 1.
void add_rerun_notes(const std::vector<session::Process>& processes, const session::Pass& pass, std::size_t number,
                     std::vector<Note>& notes);

// If a rerun that read no values did not fail either, reading values does not explain why other reruns did not fail.
void settle_disturbed(std::vector<Rerun>& reruns);

// Notes the difference between a rerun that read values and the next rerun, which read none.
void note_disturbed(const std::vector<Rerun>& reruns, std::vector<Note>& notes);

// Adds to the failure's reasons that it did not recur. `reruns` contains only reruns of unedited source.
void say_not_reproduced(const std::vector<Rerun>& reruns, Vanished vanished, Failure& failure);

}  // namespace cudadiag::analyse
