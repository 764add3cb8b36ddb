// Reads and writes manifest.json, in which the launcher stores what it knows about a session. The format is
// "cudadiag.session/1".
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "session/session.h"

namespace cudadiag::session {

// The hint in an error about a manifest that cannot be used.
inline constexpr const char* kMoveManifestAway = "move it away to read the session without its reruns";

inline constexpr std::uint64_t kMostManifestBytes = 64u << 20;

// Returns whether the text is a cudadiag manifest of any version; parse_manifest may still reject it.
bool is_manifest(std::string_view text);

std::string_view word(Deed deed);

// Returns a time in the form that manifests and reports use, such as "2026-11-21T10:15:00Z".
std::string iso_time(std::time_t time);

std::string write_manifest(Manifest manifest);

// Members that are missing or have the wrong type keep their default. Returns an error only if the text is not a
// manifest of this version.
base::Result<Manifest> parse_manifest(std::string_view text);

}  // namespace cudadiag::session
