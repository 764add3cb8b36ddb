// `cudadiag completion`: prints the completion script for a shell.
#include "options/completion.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "options/command_line.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

void add_completion(CLI::App& app, int& status) {
  auto shell = std::make_shared<Shell>(Shell::bash);
  auto* command = app.add_subcommand("completion", "print the completion script for a shell");
  const Words<Shell> shells = {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}};
  add_word(command, "SHELL", *shell, shells, "the shell");
  command->footer("For bash, without a package: eval \"$(cudadiag completion bash)\"\nSee also: man cudadiag");
  command->callback([&app, shell, &status] {
    print(completion_script(app, *shell));
    status = 0;
  });
}

}  // namespace cudadiag::command
