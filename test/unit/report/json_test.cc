#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace json_test {

using namespace cudadiag::diagnose;
using namespace cudadiag::report;
using nlohmann::json;

namespace {

// Checks that every object in the schema forbids unknown members and requires all known members. The schema then cannot
// lack a member that we write.
void check_strict(const json& node) {
  if (node.is_object() && node.contains("properties")) {
    CHECK(node["additionalProperties"] == false);
    CHECK(node["required"].size() == node["properties"].size());
    for (const auto& [name, unused] : node["properties"].items()) {
      CHECK(std::find(node["required"].begin(), node["required"].end(), name) != node["required"].end());
    }
  }
  if (node.is_structured()) {
    for (const json& child : node) check_strict(child);
  }
}

}  // namespace

TEST_CASE("the ranks of a job, or null if they do not diverge") {
  Diagnosis report = parted_ranks_report();
  const json written = json::parse(write_json(report))["ranks"];
  CHECK(written["ranks"][1]["ended"] == "status 1");
  CHECK(written["uneven"].is_object());
  report.ranks->uneven.reset();
  CHECK(json::parse(write_json(report))["ranks"]["uneven"].is_null());
}

TEST_CASE("the schema is strict throughout") { check_strict(json::parse(write_schema())); }

TEST_CASE("a report of one failure, word for word") {
  const std::string expected = read_file(TEST_DATA "/report/python.json");
  const std::string written = write_json(python_report());
  CHECK(written.size() == expected.size());
  CHECK(written == expected);
}

TEST_CASE("evidence from the device, and null for unknown facts") {
  CHECK(json::parse(write_json(device_report()))["findings"][0]["device"] ==
        json::parse(R"json({"exception": "Warp Assert", "function": "leaf(long)",
                        "file": "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu", "line": 16,
                        "block": [77, 0, 0], "thread": [3, 0, 0], "message": "ind >= 0 && ind < size"})json"));
  const json written = json::parse(write_json(undetailed_report()));
  const json crowded = json::parse(write_json(crowded_report()))["findings"][0];
  CHECK(crowded["memory"]["mode"] == "write");
  CHECK(crowded["memory"]["bytes"] == 4);
  CHECK(crowded["memory"]["address"] == "0x7f0000001010");
  CHECK(crowded["memory"]["nearest"] == json::parse(R"({"address": "0x7f0000000000", "bytes": 4096})"));
  CHECK(crowded["memory"]["file"].is_null());
  CHECK(crowded["witnesses"].size() == 2);
  CHECK(written["findings"][0]["device"] ==
        json::parse(R"({"exception": null, "function": null, "file": null, "line": null, "block": null,
                        "thread": null, "message": null})"));
}

TEST_CASE("arguments and cause") {
  const json finding = json::parse(write_json(explained_report()))["findings"][0];
  CHECK(finding["arguments"] == json::parse(R"([
      {"name": "idx", "origin": "variable", "dtype": "int64", "shape": [8, 512], "strides": [512, 1],
       "device": "cuda:0", "value": null, "min": 0, "max": 30050, "nan": null, "inf": null, "bound": 30000,
       "outside": 3, "first_outside": [0, 77], "first_value": 30050, "pointer": null, "bytes": null,
       "allocation": null},
      {"name": "parameter 0", "origin": "kernel", "dtype": null, "shape": [], "strides": [], "device": null,
       "value": null, "min": null, "max": null, "nan": null, "inf": null, "bound": null, "outside": null,
       "first_outside": [], "first_value": null, "pointer": "0x7f0000001200", "bytes": 64,
       "allocation": {"address": "0x7f0000001000", "bytes": 4096, "offset": 512, "device": 0, "out_of_reach": false, "state": "freed",
                      "owner": null,
                      "allocated": null,
                      "freed": {"file": "/home/u/train.py", "line": 39, "function": "forward", "language": "python",
                                "source": "del cache", "module": null, "called_from": null}}}])"));
  CHECK(finding["cause"] == json::parse(R"({"id": "index-out-of-range",
      "text": "idx[0,77] = 30050, but the table has 30000 rows", "facts": {"index": "30050", "rows": "30000"},
      "link": "https://pytorch.org/docs", "certain": true})"));
}

TEST_CASE("strings from the target remain plain text") {
  Diagnosis report = python_report();
  report.findings[0].location.function = "f\x1b[2J\xff\xc2\x9b";
  const std::string written = write_json(report);
  CHECK(std::all_of(written.begin(), written.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
  CHECK(json::parse(written)["findings"][0]["location"]["function"] == "f\x1b[2J\xef\xbf\xbd\xc2\x9b");
}

}  // namespace json_test
