// Writes the part of a page that is about one failure or race.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/pictures/pictures.h"
#include "report/html/markup.h"
#include "report/page.h"

namespace cudadiag::report {

struct ArticleSources {
  const std::vector<const diagnose::Finding*>& findings;  // one finding, or those of processes with the same failure
  const Page& page;                                       // text of the first finding
  const diagnose::FindingPictures& pictures;              // pictures of the first finding
  const std::string& directory;
  bool leads = false;  // true for the first article of the page
};

// `context` is the line above the headline, already in HTML.
std::string finding_article(const ArticleSources& sources, const std::string& context, const Markup& markup);

}  // namespace cudadiag::report
