#include "record/collectives/named_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/names/environment.h"

namespace cudadiag::record {
namespace {

constexpr std::size_t kLongestName = 255;  // NCCL truncates names to this length

// A plugin may be linked into the program itself. The user's NCCL_PROFILER_PLUGIN is then any prefix of STATIC_PLUGIN,
// in upper or lower case.
bool means_program(const char* name) {
  const char* word = "STATIC_PLUGIN";
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  while (*name != '\0' && upper(*name) == *word) ++name, ++word;
  return *name == '\0';
}

bool is_bare_word(const char* name) {
  const std::size_t size = strlen(name);
  const bool ends_like_library = size >= 3 && strcmp(name + size - 3, ".so") == 0;
  return strchr(name, '/') == nullptr && (strncmp(name, "lib", 3) != 0 || !ends_like_library);
}

void* open_library(const char* name) { return dlopen(means_program(name) ? nullptr : name, RTLD_NOW | RTLD_LOCAL); }

bool has_table(void* library) {
  for (int version = 1; version <= 6; ++version) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    if (dlsym(library, symbol) != nullptr) return true;
  }
  return false;
}

void* open_by(const char* name, const char* prefix) {
  const bool is_named = name != nullptr && *name != '\0';
  char file[kLongestName];
  is_named ? snprintf(file, sizeof file, "%s", name) : snprintf(file, sizeof file, "%s.so", prefix);
  if (void* library = open_library(file)) return library;
  if (!is_named || !is_bare_word(name)) return nullptr;
  snprintf(file, sizeof file, "%s-%s.so", prefix, name);
  return open_library(file);
}

// If NCCL finds no profiler elsewhere, it looks in the network plugin, which is already loaded.
void* network_plugin() {
  const char* name = getenv("NCCL_NET_PLUGIN");
  char file[kLongestName];
  if (name == nullptr || *name == '\0') return dlopen("libnccl-net.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  snprintf(file, sizeof file, "libnccl-net-%s.so", name);
  return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

}  // namespace

const NamedPlugin& NamedPlugin::instance() {
  static constinit NamedPlugin plugin;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { plugin.search(); });
  return plugin;
}

void NamedPlugin::search() {
  library_ = open_by(getenv(wire::environment::kProfiler), "libnccl-profiler");
  if (library_ == nullptr) library_ = network_plugin();
  if (library_ != nullptr && !has_table(library_)) library_ = nullptr;
  dlerror();  // clears our error, so that NCCL does not report it
}

void* NamedPlugin::table(int version) const {
  if (library_ == nullptr) return nullptr;
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
  void* found = dlsym(library_, symbol);
  dlerror();
  return found;
}

}  // namespace cudadiag::record
