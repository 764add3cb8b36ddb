// Writes and reads launch.json, the description of a saved launch (lib/replay/launch.schema.json). The reader trusts
// nothing, because anyone may have written the file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

inline constexpr const char* kLaunchSchema = "cudadiag.launch/1";

std::string write_launch(const SavedLaunch& launch);
base::Result<SavedLaunch> parse_launch(std::string_view text);

}  // namespace cudadiag::replay
