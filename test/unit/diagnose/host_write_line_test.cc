// Tests the choice of the statement that changed host memory between two calls.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <tuple>

#include "diagnose/line_resolver.h"
#include "diagnose/unreported/findings.h"

namespace host_write_line_test {

using namespace cudadiag;
using diagnose::Location;
using diagnose::PlacedCall;

namespace {

// A source file. A line that ends with a mark, as in "call();  // A", is found by the mark.
struct SourceText {
  SourceText(const char* text, bool is_python) : python(is_python) {
    char path[] = "/tmp/host_line_XXXXXX";
    close(mkstemp(path));
    file = path;
    std::ofstream(file) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(line);
  }
  ~SourceText() { unlink(file.c_str()); }
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  int line(const std::string& mark) const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].ends_with((python ? "# " : "// ") + mark)) return static_cast<int>(i) + 1;
    }
    return 0;
  }

  // A call whose innermost frame is at the first mark, called from the next one.
  PlacedCall call(std::uint32_t site, const std::vector<std::string>& marks) const {
    PlacedCall made;
    made.site = site;
    made.location.file = file;
    made.location.line = line(marks.front());
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const std::string function = "f" + std::to_string(marks.size() - i);
      if (python) made.stack.python.push_back({file, line(marks[i]), function, true});
      symbolize::NativeFrame frame;
      frame.file = file, frame.line = line(marks[i]), frame.function = function, frame.user = true;
      if (!python) made.stack.native.push_back(frame);
    }
    return made;
  }

  // Returns the mark-less line number that is found between the calls; 0 if none.
  int found(const std::vector<std::string>& after, const std::vector<std::string>& before) const {
    session::ProcessRecord record;
    const std::uint32_t first = 1, second = after == before ? 1 : 2;
    const auto location = diagnose::writing_statement(record, call(first, after), call(second, before));
    return location ? location->line : 0;
  }

  bool python;
  std::string file;
  std::vector<std::string> all;
};

SourceText cpp(const std::string& body) { return {("int main() {\n" + body + "}\n").c_str(), false}; }
SourceText python(const std::string& body) { return {("def main():\n" + body).c_str(), true}; }

}  // namespace

TEST_CASE("a line of C++ between two calls is named if it alone writes") {
  for (const char* writes :
       {"x[1] = 2;", "p->rate = 0.5f;", "*p = 1;", "for (int i = 0; i < n; ++i) x[i] += 2;", "memset(x, 0, n);",
        "std::memcpy(x + n, y, n);", "x[1] = static_cast<short>(k + i);", "counts[3]++;"}) {
    CAPTURE(writes);
    const SourceText text = cpp(std::string("  launch();  // A\n  if (done) cudaStreamSynchronize(stream);\n  ") +
                                writes + "  // W\n  const int more = 3;\n  launch(more);  // B\n");
    CHECK(text.found({"A"}, {"B"}) == text.line("W"));
  }
}

TEST_CASE("a line of C++ is not named if another one may write") {
  for (const char* other : {"y[1] = 2;", "fill(x);", "x.assign(n, 0);", "/* comment; */", "FILL_X", "auto y = next();",
                            "a = b;", "for (auto& each : all) each.reset();"}) {
    CAPTURE(other);
    const SourceText text = cpp(std::string("  launch();  // A\n  x[1] = 2;\n  ") + other + "\n  launch();  // B\n");
    CHECK(text.found({"A"}, {"B"}) == 0);
  }
  for (const char* only : {"receive(x);", "fill(x, n);", "x[0] = fill(y);", "taken = k;", "const int y = x[0];"}) {
    CAPTURE(only);
    const SourceText text = cpp(std::string("  launch();  // A\n  ") + only + "\n  launch();  // B\n");
    CHECK(text.found({"A"}, {"B"}) == 0);
  }
}

TEST_CASE("a loop leads from its last call to its first one") {
  const SourceText text = cpp(
      "  setup[0] = 1;\n  for (int k = 0; k < n; ++k) {\n    x[k] = 1;  // W\n    launch();  // B\n    if (wait) {\n"
      "      cudaEventSynchronize(done);\n    }\n    launch();  // A\n  }\n  x[9] = 1;\n");
  CHECK(text.found({"A"}, {"B"}) == text.line("W"));
  CHECK(text.found({"B"}, {"B"}) == 0);  // the other launch() may write
  CHECK(text.found({"B"}, {"A"}) == 0);
  const SourceText loader = python("    for batch in loader:\n        x[:4] = 1\n        launch()  # A\n");
  CHECK(loader.found({"A"}, {"A"}) == 0);  // the loader may write
  const SourceText range = python("    for step in range(3):\n        x[:4] = 1  # W\n        launch()  # A\n");
  CHECK(range.found({"A"}, {"A"}) == range.line("W"));
}

TEST_CASE("what a called function does before and after its call counts") {
  const SourceText text{
      "def step(first):\n    x[first] = 1  # W\n    launch()  # B\n    if first:\n        stream.synchronize()\n\n"
      "def main():\n    step(1)  # FIRST\n    step(2)  # SECOND\n\ndef other():\n    step(1)  # X\n    y[0] = 1\n"
      "    step(2)  # Y\n",
      true};
  CHECK(text.found({"B", "FIRST"}, {"B", "SECOND"}) == text.line("W"));
  CHECK(text.found({"B", "X"}, {"B", "Y"}) == 0);
}

TEST_CASE("a line of Python between two calls is named if it alone writes") {
  for (const char* writes : {"x[:10] = y", "x[a, b] += 2", "view[:1000] = 0.5 + step", "ids.fill_(1000 + step)",
                             "host.sort()", "np.copyto(x, y)", "p[:n] = torch.arange(a, a + n)"}) {
    CAPTURE(writes);
    const SourceText text =
        python(std::string("    launch()  # A\n    if corrected:\n        stream.synchronize()\n    ") + writes +
               "  # W\n    launch(\n        1)  # B\n");
    CHECK(text.found({"A"}, {"B"}) == text.line("W"));
  }
  for (const char* other :
       {"refill(x)", "x = make()", "x[0] = make(y)", "x += 1", "print(x)", "self.step()", "x = y; y[0] = 1"}) {
    CAPTURE(other);
    const SourceText text = python(std::string("    launch()  # A\n    ") + other + "\n    launch()  # B\n");
    CHECK(text.found({"A"}, {"B"}) == 0);
  }
}

TEST_CASE("a method that the file defines is not PyTorch's") {
  const SourceText text{
      "class Buffer:\n    def fill_(self, value):\n        pass\n\ndef main():\n    launch()  # A\n    x.fill_(3)\n"
      "    launch()  # B\n",
      true};
  CHECK(text.found({"A"}, {"B"}) == 0);
}

TEST_CASE("a path through unknown code has no statement") {
  const SourceText text = python("    launch()  # A\n    x[0] = 1\n    launch()  # B\n");
  PlacedCall a = text.call(1, {"A"}), b = text.call(2, {"B"});
  session::ProcessRecord record;
  CHECK(diagnose::writing_statement(record, a, b));
  record.start_realtime = 1;  // the file was written later
  CHECK_FALSE(diagnose::writing_statement(record, a, b));
  record.start_realtime = 0;
  symbolize::NativeFrame extension;
  extension.user = true;
  b.stack.native.push_back(extension);
  CHECK_FALSE(diagnose::writing_statement(record, a, b));
  b = text.call(2, {"B"});
  b.stack.python[0].function = "another";
  b.stack.python[0].file = "/nowhere/another.py", b.location.file = b.stack.python[0].file;
  CHECK_FALSE(diagnose::writing_statement(record, a, b));
}

namespace {

// The line that contains the text; the last one if there are several.
int line_with(const std::string& file, const std::string& text) {
  std::ifstream lines(file);
  int found = 0, number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find(text) != std::string::npos) found = number;
  }
  CAPTURE(text);
  REQUIRE(found > 0);
  return found;
}

// A call in main() of the program or, if `text` is a function of bounded.cuh, in that function.
PlacedCall call_in(const std::string& file, const std::string& text) {
  const std::string common = TEST_DATA "/../gpu/silent/bounded.cuh";
  std::vector<std::pair<std::string, int>> frames = {{file, line_with(file, text)}};
  if (text == "finished()") frames.insert(frames.begin(), {common, line_with(common, "= cudaDeviceSynchronize()")});
  PlacedCall made;
  std::tie(made.location.file, made.location.line) = frames.front();
  made.site = static_cast<std::uint32_t>(made.location.line);
  for (const auto& [of, line] : frames) {
    if (file.ends_with(".py")) made.stack.python.push_back({of, line, "main", true});
    symbolize::NativeFrame frame;
    frame.file = of, frame.line = line, frame.function = of == common ? "finished" : "main", frame.user = true;
    if (!file.ends_with(".py")) made.stack.native.push_back(frame);
  }
  return made;
}

}  // namespace

TEST_CASE("the host's line in a labelled program is found, or none") {
  const struct {
    const char *program, *after, *before;
    bool found = true;
  } cases[] = {
      {"next_token_ids.cu", "cudaEventRecord(done", "// REPLAY"},
      {"block_offsets.cu", "cudaEventSynchronize", "busy<<<"},
      {"staging_returned.cu", "// REPLAY", "finished()", false},
      {"embedding_rows.cu", "// REPLAY", "finished()"},
      {"node_built_by_hand.cu", "// REPLAY", "finished()"},
      {"copy_in_child.cu", "// REPLAY", "finished()"},
      {"pageable_settings.cu", "// REPLAY", "finished()"},
      {"source_moved.cu", "// REPLAY", "cudaStreamSynchronize"},
      {"second_of_two_replays.cu", "cudaEventSynchronize", "finished()"},
      {"wrong_stream_awaited.cu", "cudaStreamSynchronize", "finished()"},
      {"refilled_by_thread.cu", "// REPLAY", "busy<<<", false},
      {"one_field_of_constants.cu", "// REPLAY", "busy<<<"},
      {"torch_graph_input.py", "# REPLAY", "# REPLAY"},
      {"torch_numpy_view.py", "torch.mul", "# COPY"},
      {"cupy_captured_copy.py", "# REPLAY", "Device().synchronize()"},
      {"gather_of_offsets.cu", "cudaEventRecord", "// LAUNCH"},
      {"row_of_request.cu", "// LAUNCH", "finished()"},
      {"learning_rate_in_place.cu", "// LAUNCH", "busy<<<"},
      {"frame_without_copy.cu", "// LAUNCH", "finished()", false},
      {"relinked_list.cu", "// LAUNCH", "finished()"},
      {"registered_lengths.cu", "// LAUNCH", "finished()"},
      {"filled_after_launch.cu", "// LAUNCH", "finished()", false},
      {"torn_pair.cu", "// LAUNCH", "finished()"},
      {"read_by_replay.cu", "// REPLAY", "// REPLAY"},
      {"cupy_reads_pinned.py", "# LAUNCH", "Device().synchronize()"},
      {"header_then_payload.cu", "// COPY", "finished()", false},
      {"normalised_in_place.cu", "// COPY", "finished()", false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.program);
    const std::string file = TEST_DATA "/../gpu/silent/host_memory/" + std::string(each.program);
    const session::ProcessRecord record;
    const auto line = diagnose::writing_statement(record, call_in(file, each.after), call_in(file, each.before));
    REQUIRE(line.has_value() == each.found);
    if (line) CHECK(line->line == line_with(file, file.ends_with(".py") ? "# HOST" : "// HOST"));
  }
}

}  // namespace host_write_line_test
