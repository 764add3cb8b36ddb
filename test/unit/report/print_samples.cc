// Prints the JSON Schema and the JSON of the sample reports for schema_test.py, one document per line.
#include <iostream>
#include <nlohmann/json.hpp>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

using namespace cudadiag::diagnose;
using namespace cudadiag::report;

int main() {
  std::cout << nlohmann::json::parse(write_schema()).dump() << "\n";
  for (const Diagnosis& report : {python_report(), native_report(), refused_report(), crowded_report(), device_report(),
                                  explained_report(), clean_report(), undetailed_report(), parted_ranks_report()}) {
    std::cout << nlohmann::json::parse(write_json(report)).dump() << "\n";
  }
}
