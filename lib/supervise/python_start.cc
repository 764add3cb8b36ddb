#include "supervise/python_start.h"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "python/hook_sources.h"
#include "session/session_files.h"
#include "wire/names/environment.h"

namespace cudadiag::supervise {
namespace {

namespace names = wire::environment;

constexpr const char* kPythonPath = "PYTHONPATH";

std::string text_of(const NansOptions& options) {
  std::string text = "history=" + std::to_string(options.history);
  if (options.also_infinite) text += ",also-inf";
  if (options.blocking) text += ",blocking";
  return text;
}

std::optional<base::Error> write_package(const std::filesystem::path& folder, session::SessionWriter& writer) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error)
    return base::Error{"cannot create " + folder.string() + ": " + error.message(),
                       "choose a different folder with -o FOLDER"};
  for (const python::HookModule& module : python::hook_modules()) {
    // The file names do not end in .py. Interpreters that do not run our sitecustomize also have this folder in their
    // path, but must not import the files.
    const auto file = folder / (std::string(module.name) + ".txt");
    if (auto failure = writer.store_text(file, module.text)) return failure;
  }
  if (auto failure = writer.store_text(folder / "load.txt", python::hook_loader())) return failure;
  return writer.store_text(folder / "sitecustomize.py", python::hook_start());
}

base::Result<std::vector<launch::Variable>> started(launch::Variable options, session::SessionWriter& writer) {
  const std::filesystem::path folder = writer.pass_folder() / session::kPythonFolder;
  if (auto failure = write_package(folder, writer)) return *failure;
  const char* path = std::getenv(kPythonPath);
  const std::string others = path == nullptr || *path == '\0' ? "" : ":" + std::string(path);
  return std::vector<launch::Variable>{
      {names::kSession, writer.pass_folder().string()}, std::move(options), {kPythonPath, folder.string() + others}};
}

base::Result<std::vector<launch::Variable>> uncompiled(base::Result<std::vector<launch::Variable>> variables) {
  if (auto* made = std::get_if<std::vector<launch::Variable>>(&variables)) made->push_back(kUncompiled);
  return variables;
}

base::Result<std::vector<launch::Variable>> first_run(base::Result<std::vector<launch::Variable>> variables) {
  if (auto* made = std::get_if<std::vector<launch::Variable>>(&variables)) made->push_back({names::kPass, "record"});
  return variables;
}

}  // namespace

base::Result<std::vector<launch::Variable>> start_of_nans(const NansOptions& options, session::SessionWriter& writer) {
  return first_run(uncompiled(started({names::kNans, text_of(options)}, writer)));
}

base::Result<std::vector<launch::Variable>> start_of_tensor_races(session::SessionWriter& writer) {
  return first_run(uncompiled(started({names::kTensorRaces, "on"}, writer)));
}

base::Result<std::vector<launch::Variable>> start_of_origins(double seconds, session::SessionWriter& writer) {
  return started({names::kOrigins, std::to_string(seconds)}, writer);
}

base::Result<std::vector<launch::Variable>> start_of_graph_memory(const std::filesystem::path& recorder,
                                                                  session::SessionWriter& writer) {
  return started({names::kGraphMemory, recorder.string()}, writer);
}

}  // namespace cudadiag::supervise
