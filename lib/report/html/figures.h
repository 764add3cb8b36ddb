// The figures of a page: quoted source, and drawings as inline SVG. Each function returns a whole <figure>, or nothing
// where there is nothing to show.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/pictures/pictures.h"
#include "report/html/markup.h"

namespace cudadiag::report {

// The words of a figure of source, already marked up.
struct SourceWords {
  std::string heading, caption;
  std::string kind;                        // a class
  int other_line = 0;                      // another line of the same quotation to be marked; 0: none
  std::string own_label{}, other_label{};  // beside the two lines, if there is another
};

// The lines of a quotation, its own one marked.
std::string source_figure(const diagnose::Quotation& quotation, const SourceWords& words, const Markup& markup);

// "train.py:41" of a longer path.
std::string short_place(const diagnose::Location& location);

// The operations of each stream in the order of issue, with how far each got and where markers were.
std::string stream_figure(const diagnose::Timeline& timeline, const std::string& directory, const Markup& markup);

// The two sides of a race, and what is missing between them.
std::string race_figure(const diagnose::ResolvedRace& race, const std::string& directory, const Markup& markup);

// The memory that was held, until a call ran out of it.
std::string memory_figure(const diagnose::MemoryCurve& curve, const diagnose::MemoryUse& use, const Markup& markup);

// The place of a failing access, beside the memory that was meant.
std::string access_figure(const diagnose::Access& access, const Markup& markup);

// The life of memory that was used after it had been freed.
std::string freed_figure(const diagnose::Argument& argument, const diagnose::Location& used, const Markup& markup);

}  // namespace cudadiag::report
