// The small files in the folder of a pass: the machine code of suspected kernels, calls and launches that a rerun
// saved, and what came of repeating them. All fields have been checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::session {

inline constexpr const char* kRecordFolder = "record";
inline constexpr const char* kModulesFolder = "modules";      // in the folder of a running pass: images of device code
inline constexpr const char* kOutputFile = "output.txt";      // in a rerun's folder: the output of its command
inline constexpr const char* kDebuggerFile = "cuda-gdb.txt";  // in the pass folder: the debugger's output
inline constexpr const char* kCodeFile = "failing-code.txt";  // in the pass folder: code of the failed kernel
inline constexpr const char* kKernelCodeFile = "kernel-code.json";  // in the record pass: see KernelCode
inline constexpr const char* kCreatedFile = "created";              // in the record pass: see supervise/created_files.h
inline constexpr const char* kSanitizerFile = "compute-sanitizer.txt";
inline constexpr const char* kPassingLaunchFile = "passing-launch";  // in a rerun's folder: see drop_passing_launches()

// The machine code of a kernel that may have failed, as nvdisasm prints it. It is stored with the record pass, because
// a report must not depend on tools that may be missing.
struct KernelCode {
  std::string kernel;                            // mangled
  std::uint32_t bank_offset = 0, bank_size = 0;  // of its parameters in constant bank 0
  bool harmless_calls = false;                   // functions in other files that it calls modify no memory
  std::string text;
  std::uint32_t shared_bytes = 0;  // static shared memory, with the system's part; 0 if there is none or if unknown
  bool operator==(const KernelCode&) const = default;
};

// Several elements can have the same kernel name, because a program may load several kernels with one name.
std::string write_kernel_code(std::vector<KernelCode> codes);
std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text);

inline constexpr const char* kReplayScriptFile = "replay.py";

// A call that a rerun saved with its arguments for `--save-inputs`. A script can repeat the call from the saved data.
// lib/python/cudadiag_hook/suspect_lines/failing_call.py writes the files.
struct SavedCall {
  std::string op;  // "aten::embedding"
  std::string python;
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::vector<std::string> missing;  // what could not be saved exactly
};

std::filesystem::path saved_call_folder(const std::filesystem::path& pass_folder, std::uint32_t pid);
std::optional<SavedCall> read_saved_call(const std::filesystem::path& folder);
std::optional<SavedCall> parse_saved_call(std::string_view text);

inline constexpr const char* kReplayTallyFile = "replays.json";

// The outcomes of repeating a saved launch on its own (lib/replay). They are stored in a file in the launch's folder.
struct ReplayTally {
  unsigned runs = 0;
  unsigned as_it_did = 0, otherwise = 0, did_not_fail = 0, hung = 0, crashed = 0, impossible = 0;
  std::uint64_t unsaved = 0;  // bytes of memory that the launch could reach but that were not saved
  bool lacks_more = false;    // something other than these bytes was not saved either
  std::string gpu{};          // PCI bus id of the GPU of the first replay; empty if unknown
  std::string why{};          // why the launch was not replayed; empty if it was

  unsigned made() const { return runs - impossible; }
  unsigned failed() const { return as_it_did + otherwise + hung + crashed; }
};

// Returns a clause such as "reproduces alone: 20 of 20". Set `failed_alone` if a rerun proved that the launch fails
// even if nothing else runs on the GPU. The clause then does not explain successful replays by the absence of other
// work.
std::string sentence(const ReplayTally& tally, bool failed_alone = false);

// Returns the last line that a rerun printed and that is not blank. It may contain any characters.
std::string last_printed_line(const std::filesystem::path& pass_folder);

std::filesystem::path saved_launch_folder(const std::filesystem::path& pass_folder, std::uint32_t pid);
std::string write_replay_tally(ReplayTally tally);
std::optional<ReplayTally> parse_replay_tally(std::string_view text);
std::optional<ReplayTally> read_replay_tally(const std::filesystem::path& folder);

}  // namespace cudadiag::session
