#include "options/completion.h"

#include <doctest/doctest.h>

#include "options/command_line.h"

namespace cudadiag::command {
namespace {

struct Example {
  Example() {
    auto* sail = app.add_subcommand("sail", "go by wind");
    add_text(sail, "-o,--output", folder, "FOLDER", "where it's kept");
    add_word(sail, "--speed", speed, Words<int>{{"slow", 1}, {"fast", 2}}, "how [fast]: two words");
    sail->add_flag("--night", night, "in the dark");
    sail->add_option("COMMAND", command, "what to run")->required();
    app.add_subcommand("inner", "for itself")->group("");
  }

  CLI::App app{"An example", "cudadiag"};
  std::string folder;
  int speed = 1;
  bool night = false;
  std::vector<std::string> command;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("each shell's script has every option of every visible command") {
  const Example example;
  for (const Shell shell : {Shell::bash, Shell::zsh, Shell::fish}) {
    const std::string script = completion_script(example.app, shell);
    CAPTURE(script);
    for (const char* name : {"sail", "output", "speed", "slow", "fast", "night"}) CHECK(has(script, name));
    CHECK_FALSE(has(script, "inner"));
  }
}

TEST_CASE("descriptions are quoted as each shell requires") {
  const Example example;
  CHECK(has(completion_script(example.app, Shell::zsh),
            R"('(-o --output)--output=[where it'\''s kept]:FOLDER:_files -/')"));
  CHECK(has(completion_script(example.app, Shell::zsh), R"(how \[fast\]\: two words]:slow|fast:(slow fast)')"));
  CHECK(has(completion_script(example.app, Shell::fish), R"( -s o -l output -x -a '(__fish_complete_directories)' -d )"
                                                         R"('where it'\''s kept')"));
}

}  // namespace
}  // namespace cudadiag::command
