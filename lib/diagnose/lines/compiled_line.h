// The line inside a function that torch.compile made a kernel of, by what Inductor notes in the file that it generates:
// the names of the nodes that a kernel was made of, which are those of the function's variables or operators.
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
  std::vector<std::string> operators{};  // that it became: "embedding"; empty: not known
};

struct GeneratedKernel {
  std::vector<SourceNode> nodes;
  std::string file;  // where a comment says it: the user's file
  int line = 0;      // 0: it does not
};

// Returns what the kernel was made of that a generated file launches at a line. Without nodes and line if the file does not say.
GeneratedKernel kernel_at(std::string_view generated, int line);

// The one line of a function that all nodes come from, or, of a failure by an index, all that index; `first`: its first
// line. 0: no line fits, or several do.
int line_of_nodes(std::string_view source, int first, const std::vector<SourceNode>& nodes, bool by_index);

// Adds the line to findings in compiled code, with the role source; inferred. `failures` are the findings', one each.
void add_compiled_lines(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
