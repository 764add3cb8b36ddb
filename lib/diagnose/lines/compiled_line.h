// Finds the source line of a kernel that torch.compile generated from a function. Inductor's file lists the nodes from
// which it generated a kernel; their names are those of the function's variables or operators.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// A node of the function's graph.
struct SourceNode {
  std::string name;
  std::vector<std::string> operators{};  // operators that it was lowered to: "embedding"; empty if unknown
};

struct GeneratedKernel {
  std::vector<SourceNode> nodes;
  std::string file;  // the user's file, if a comment names it
  int line = 0;      // 0 if no comment names it
};

// Returns the source of the kernel that a generated file launches at `line`. If it is unknown, `nodes` is empty and
// `line` is 0.
GeneratedKernel kernel_at(std::string_view generated, int line);

// The only line of a function from which all nodes come. With `by_index`, only nodes that index count. `first` is the
// function's first line. Returns 0 unless exactly one line fits.
int line_of_nodes(std::string_view source, int first, const std::vector<SourceNode>& nodes, bool by_index);

// Adds the line to findings in compiled code, with role `source` and grade `inferred`. `failures` has one entry for
// each finding.
void add_compiled_lines(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
