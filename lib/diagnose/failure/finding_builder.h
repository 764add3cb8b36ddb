// Builds a finding from one failure: its lines, operation, arguments and memory.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/source_frame.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Facts from other runs and other findings are added later (diagnosis.cc).
Finding finding_of(const analyse::Failure& failure, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Returns a finding about this process. Only its kind and its title are set.
Finding finding_in(const session::Process& process, const session::Session& session, analyse::Kind kind,
                   std::string title);

// Makes the line the finding's location, and reads the text around it.
void lead_with(Finding& finding, Location location, symbolize::SourceStack stack);

// Adds findings that no failed call reported.
void add_findings(Diagnosis& report, std::vector<Finding> found);

}  // namespace cudadiag::diagnose
