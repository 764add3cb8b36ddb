#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "symbolize/symbolizer.h"

using cudadiag::session::Code;
using cudadiag::symbolize::python_line;

namespace {

Code code_of(unsigned minor, std::uint32_t first_line, const std::string& table) {
  Code code;
  code.python_minor = minor;
  code.first_line = first_line;
  code.line_table = table;
  return code;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
  }
  return bytes;
}

// A code object in the form that record_tables.py prints.
struct RecordedCode {
  Code code;
  std::vector<int> lines;  // element i is the line of the instruction at byte 2 * i
};

std::vector<RecordedCode> read_tables(const std::filesystem::path& path) {
  std::vector<RecordedCode> recorded;
  std::ifstream file(path);
  std::string header, runs;
  while (std::getline(file, header) && std::getline(file, runs)) {
    std::istringstream fields(header);
    std::string word, hex, name;
    unsigned minor = 0, first_line = 0;
    fields >> word >> minor >> first_line >> hex >> name;
    RecordedCode entry{code_of(minor, first_line, hex == "-" ? "" : from_hex(hex)), {}};
    entry.code.qualified_name = name;
    std::istringstream list(runs);
    int line = 0, count = 0;
    char times = 0;
    while (list >> line >> times >> count) entry.lines.insert(entry.lines.end(), count, line);
    recorded.push_back(entry);
  }
  return recorded;
}

}  // namespace

TEST_CASE("every instruction has the line that its interpreter reports") {
  for (const char* version : {"3.9", "3.10", "3.11", "3.12", "3.13", "3.14"}) {
    const auto recorded = read_tables(std::string(TEST_DATA "/python/tables-") + version + ".txt");
    INFO("CPython ", version);
    REQUIRE(recorded.size() >= 10);
    for (const RecordedCode& entry : recorded) {
      const Code& code = entry.code;
      const std::vector<int>& lines = entry.lines;
      INFO(code.qualified_name);
      REQUIRE(!lines.empty());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        INFO("byte ", 2 * i);
        REQUIRE(python_line(code, static_cast<std::uint32_t>(2 * i)) == lines[i]);
      }
    }
  }
}

TEST_CASE("a frame that has not started is on its first line") {
  for (unsigned minor : {9, 10, 11, 12, 13, 14})
    CHECK(python_line(code_of(minor, 7, ""), static_cast<std::uint32_t>(-2)) == 7);
}

TEST_CASE("hand-made tables") {
  SUBCASE("locations: a number that the end of the table cuts gives no line") {
    CHECK(python_line(code_of(12, 10, "\xe8\x02"), 0) == 11);
    CHECK(python_line(code_of(12, 10, "\xe8\x42"), 0) == 0);
  }
  SUBCASE("lnotab: three bytes on the first line, then back by one line") {
    const Code code = code_of(9, 10, std::string("\x04\xff\x04\x05", 4));
    CHECK(python_line(code, 2) == 10);
    CHECK(python_line(code, 4) == 9);
    CHECK(python_line(code, 8) == 14);
    CHECK(python_line(code, 1000) == 14);
  }
  SUBCASE("lnotab: everything past the end of a truncated table is unknown") {
    const Code cut = code_of(9, 10, std::string(cudadiag::wire::intern::kLongestLineTable, '\x01'));
    CHECK(python_line(cut, 4) == 14);
    CHECK(python_line(cut, 40'000) == 0);
  }
  SUBCASE("ranges: one without a line between two that have one") {
    const Code code = code_of(10, 10, std::string("\x04\x01\x02\x80\x02\x02", 6));
    CHECK(python_line(code, 0) == 11);
    CHECK(python_line(code, 4) == 0);
    CHECK(python_line(code, 6) == 13);
    CHECK(python_line(code, 8) == 0);
  }
  SUBCASE("locations: no columns with delta -3, then no location, then the long form with delta 100") {
    // 0xe8 is kind 13 with one unit, and 7 encodes -3. 0xf9 is kind 15 with two units. 0xf0 is kind 14, and 0x48 0x03
    // encode 200 in chunks of six bits.
    const Code code = code_of(12, 10, std::string("\xe8\x07\xf9\xf0\x48\x03\x00\x00\x00", 9));
    CHECK(python_line(code, 0) == 7);
    CHECK(python_line(code, 2) == 0);
    CHECK(python_line(code, 4) == 0);
    CHECK(python_line(code, 6) == 107);
    CHECK(python_line(code, 8) == 0);
  }
}

TEST_CASE("damaged tables end the search and never give a line below one") {
  for (unsigned minor : {9, 10, 11, 13, 4000}) {
    for (int filling : {0x00, 0x7f, 0x80, 0xc0, 0xf0, 0xff}) {
      for (std::size_t size : {1, 2, 3, 7, 64, 65}) {
        const Code code = code_of(minor, 0x7fffffff, std::string(size, static_cast<char>(filling)));
        for (std::uint32_t offset : {0u, 1u, 2u, 63u, 1u << 20, 0x7fffffffu, 0xffffffffu}) {
          CHECK(python_line(code, offset) >= 0);
        }
      }
    }
  }
  CHECK(python_line(code_of(11, 1, std::string("\xe8\x41", 2)), 0) == 0);  // a truncated number
  CHECK(python_line(code_of(9, 1, std::string("\x00\x9c", 2)), 0) == 0);   // the line would be 1 - 100
}
