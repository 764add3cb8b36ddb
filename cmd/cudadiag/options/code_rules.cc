#include "options/code_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "options/command_line.h"

namespace cudadiag::command {
namespace {

constexpr const char *kUsers = "--user-code", *kNotUsers = "--not-user-code";

std::string absolute(const std::string& path) {
  std::error_code ignored;
  std::string text = std::filesystem::absolute(path, ignored).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_within(std::string_view file, std::string_view path) {
  return file.starts_with(path) && (file.size() == path.size() || file[path.size()] == '/');
}

bool has_code_in(const session::Session& session, const std::string& path) {
  return std::any_of(session.processes.begin(), session.processes.end(), [&](const session::Process& process) {
    const auto& codes = process.record.codes;
    const auto& modules = process.record.modules;
    return std::any_of(codes.begin(), codes.end(), [&](const auto& code) { return is_within(code.file, path); }) ||
           std::any_of(modules.begin(), modules.end(),
                       [&](const auto& module) { return is_within(module.path, path); });
  });
}

}  // namespace

void add_code_rules(CLI::App* command) {
  const auto add = [&](const char* name, const char* description) {
    add_texts(command, name, "PATH", description)->group("Which code is yours (the most specific path wins)");
  };
  add(kUsers, "treat this folder or file as your own code");
  add(kNotUsers, "treat this folder or file as a library");
}

std::vector<session::CodeRule> code_rules(const CLI::App& command) {
  std::vector<session::CodeRule> rules;
  std::map<const CLI::Option*, std::size_t> taken;
  for (const CLI::Option* option : command.parse_order()) {
    const bool user = option->get_name() == kUsers;
    if (!user && option->get_name() != kNotUsers) continue;
    const std::string path = absolute(option->results().at(taken[option]++));
    rules.push_back({path, user});
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && real != path) rules.push_back({real, user});
  }
  return rules;
}

std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session) {
  for (const session::CodeRule& rule : rules) {
    std::error_code ignored;
    if (std::filesystem::exists(rule.path, ignored) || (session != nullptr && has_code_in(*session, rule.path)))
      continue;
    return base::Error{std::string(rule.user ? kUsers : kNotUsers) + ": found no file or folder " + rule.path +
                           (session != nullptr ? ", and the session has no code from there" : ""),
                       "give a folder, a Python file, a source file or a library"};
  }
  return std::nullopt;
}

std::optional<base::Error> add_rules(const std::vector<session::CodeRule>& rules, session::Session& session) {
  if (auto unknown = unknown_path(rules, &session)) return unknown;
  session.manifest.code_rules.insert(session.manifest.code_rules.end(), rules.begin(), rules.end());
  return std::nullopt;
}

}  // namespace cudadiag::command
