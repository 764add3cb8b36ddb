#include "session/process_record.h"

#include "base/text.h"
#include "wire/pass_files.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<Work, 11> kWords = {{
    {Work::call, "call"},
    {Work::kernel, "kernel"},
    {Work::graph, "graph"},
    {Work::copy, "copy"},
    {Work::memset, "memset"},
    {Work::wait, "wait"},
    {Work::write, "write"},
    {Work::event, "event"},
    {Work::host_function, "host function"},
    {Work::allocation, "allocation"},
    {Work::free, "free"},
}};

}  // namespace

std::string_view word(Work work) { return base::word_of(kWords, work); }

std::optional<Work> work_of(std::string_view word) { return base::value_of(kWords, word); }

namespace {

constexpr base::Words<Property, 21> kKeys = {{
    {Property::argv, "argv"},
    {Property::core_dump, wire::core_dump::kProperty},
    {Property::cuda, "cuda"},
    {Property::cupti, "cupti"},
    {Property::cupti_path, "cupti.path"},
    {Property::cwd, "cwd"},
    {Property::exe, "exe"},
    {Property::flight_recorder, "flight_recorder"},
    {Property::forked_at, "forked_at"},
    {Property::forked_from, "forked_from"},
    {Property::host, "host"},
    {Property::late_launch_blocking, "late.CUDA_LAUNCH_BLOCKING"},
    {Property::launch_blocking, "env.CUDA_LAUNCH_BLOCKING"},
    {Property::left_at_work, "left_at_work"},
    {Property::mps, "mps"},
    {Property::pageable_access, "pageable_access"},
    {Property::python, "python"},
    {Property::python_hook, "python.hook"},
    {Property::rank, "rank"},
    {Property::visible_devices, "env.CUDA_VISIBLE_DEVICES"},
    {Property::watched_by, "watched_by"},
}};

const std::string& value_at(const ProcessRecord& record, const std::string& key) {
  static const std::string kNone;
  const auto found = record.properties.find(key);
  return found == record.properties.end() ? kNone : found->second;
}

std::string key_of(Property property) { return std::string(base::word_of(kKeys, property)); }

}  // namespace

bool has(const ProcessRecord& record, Property property) { return record.properties.contains(key_of(property)); }

const std::string& value_of(const ProcessRecord& record, Property property) {
  return value_at(record, key_of(property));
}

bool awaited_core_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kArmed;
}

bool left_core_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kWritten;
}

bool left_requested_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kRequested;
}

const std::string& pci_bus_id(const ProcessRecord& record, std::size_t device) {
  return value_at(record, "device." + std::to_string(device) + ".pci");
}

const std::string& device_name(const ProcessRecord& record, std::size_t device) {
  return value_at(record, "device." + std::to_string(device) + ".name");
}

std::string written_name(std::string name) {
  for (const char* suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.resize(name.rfind('_'));
  }
  const std::size_t digits = name.find_last_not_of("0123456789");
  const bool versioned = digits != std::string::npos && digits + 1 < name.size() && digits > 0 && name[digits] == 'v' &&
                         name[digits - 1] == '_';
  return versioned ? name.substr(0, digits - 1) : name;
}

}  // namespace cudadiag::session
