// The subcommands: each takes its parsed options and returns the exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/environment.h"
#include "report/text.h"

namespace cudadiag::command {

struct RunOptions {
  std::vector<std::string> command;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  std::optional<int> error_exit_status;
  std::string json;  // file to write the report to as well
  launch::RecordOptions record;
};

struct ReportOptions {
  std::string session;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
};

int run(const RunOptions& options);
int report(const ReportOptions& options);
int list(const std::optional<std::string>& output);
int core(const std::string& file, bool json);
int dump(const std::string& session, const std::optional<std::string>& output);
int doctor(bool gpu);
int environment(const std::optional<std::string>& output, const launch::RecordOptions& record);

}  // namespace cudadiag::command
