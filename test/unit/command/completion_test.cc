#include <doctest/doctest.h>

#include "command_line.h"
#include "commands/commands.h"

namespace cudadiag::command {
namespace {

using Rows = std::vector<std::string>;

struct Example {
  Example() {
    auto* sail = app.add_subcommand("sail", "go by wind");
    sail->set_help_flag();
    add_text(sail, "-o,--output", folder, "FOLDER", "where it's kept");
    add_word(sail, "--speed", speed, Words<int>{{"slow", 1}, {"fast", 2}}, "how [fast]: two words");
    sail->add_flag("--night", night, "in the dark");
    sail->add_flag("--old", night, "an old name")->group("");
    sail->add_option("COMMAND", command, "what to run")->required();
    app.add_subcommand("inner", "for itself")->group("");
  }
  Rows after(const Rows& words) const { return completions(app, words); }

  CLI::App app{"An example", "cudadiag"};
  std::string folder;
  int speed = 1;
  bool night = false;
  std::vector<std::string> command;
};

TEST_CASE("visible subcommands and options are completed, with their descriptions") {
  const Example example;
  CHECK(example.after({""}) == Rows{"sail\tgo by wind", "help", "--help", "--version"});
  CHECK(example.after({"help", "s"}) == Rows{"sail\tgo by wind"});
  CHECK(example.after({"sail", "-"}) == Rows{"-o\twhere it's kept", "--output\twhere it's kept",
                                             "--speed\thow [fast]: two words", "--night\tin the dark"});
  CHECK(example.after({"sail", "--night", "--ni"}) == Rows{"--night\tin the dark"});
  CHECK(example.after({"row", "--ni"}).empty());
}

TEST_CASE("the value of an option is completed in each notation") {
  const Example example;
  CHECK(example.after({"sail", "--speed", ""}) == Rows{"slow", "fast"});
  CHECK(example.after({"sail", "--speed", "f"}) == Rows{"fast"});
  CHECK(example.after({"sail", "--speed", "="}) == Rows{"slow", "fast"});
  CHECK(example.after({"sail", "--speed", "=", "s"}) == Rows{"slow"});
  CHECK(example.after({"sail", "--speed=s"}) == Rows{"--speed=slow"});
  CHECK(example.after({"sail", "-o", "x"}) == Rows{":folders"});
  CHECK(example.after({"sail", "--output=x"}) == Rows{":folders"});
}

TEST_CASE("the command to run begins at the first word that is neither an option nor the value of one") {
  const Example example;
  CHECK(example.after({"sail", ""}) == Rows{":command 2"});
  CHECK(example.after({"sail", "--", "-"}) == Rows{":command 3"});
  CHECK(example.after({"sail", "--night", "-o", "x", "t"}) == Rows{":command 5"});
  CHECK(example.after({"sail", "--speed", "=", "fast", "tru"}) == Rows{":command 5"});
  CHECK(example.after({"sail", "true", "--ni"}) == Rows{":command 2"});
}

}  // namespace
}  // namespace cudadiag::command
