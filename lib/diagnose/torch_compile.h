// Finds the lines and causes of failures in code that torch.compile compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"

namespace cudadiag::diagnose {

// The reruns without torch.compile, diagnosed as a session of their own.
struct EagerAnswer {
  const session::Session* session = nullptr;
  const analyse::Analysis* analysis = nullptr;
  const Diagnosis* diagnosis = nullptr;
};

// A node of the graph that torch.compile created from the function.
struct SourceNode {
  std::string name;
  std::vector<std::string> operators{};  // the operators that implement the node: "embedding"; empty if unknown
};

struct GeneratedKernel {
  std::vector<SourceNode> nodes;
  std::string file;  // the user's file, if a comment names it
  int line = 0;      // 0 if no comment names it
};

// Returns the source of the kernel that a generated file launches at `line`. If the source is unknown, `nodes` is empty
// and the result's `line` is 0.
GeneratedKernel generated_kernel_at(std::string_view generated, int line);

// Returns the line of the function from which all `nodes` come; 0 unless exactly one line fits. With `by_index`,
// considers only the nodes that index a tensor, if there are any. `first` is the function's first line.
int line_of_nodes(std::string_view source, int first, const std::vector<SourceNode>& nodes, bool by_index);

// Adds the line to findings in compiled code, with role `source` and grade `inferred`. Then leads each of these
// findings with the line inside the function or, if that is unknown, with the line that called the function. `failures`
// has one entry for each finding.
void add_compiled_lines(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

// Adds the line, with role `eager`, to findings in compiled code. Also adds the cause, with the arguments that prove
// it, if the finding's own cause is less well proven. `failures` has one entry for each finding. Call this after
// add_causes().
void add_eager(Diagnosis& report, const std::vector<const analyse::Failure*>& failures, const EagerAnswer& eager);

}  // namespace cudadiag::diagnose
