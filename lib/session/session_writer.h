// Writes one session's folder. The folder's name ends in ".incomplete" until finish(). A lock on the folder shows other
// processes that it is being written.
//
// The writer has open descriptors of the root, the session's folder and the pass folder. It creates and replaces every
// file relative to them and follows no link. If another user renames a folder, or replaces it by a link, the writer
// still writes to the original folder. Programs that receive the folder by name have no such protection: the recorder
// if it cannot reach the arena, the driver for a GPU core dump, and compute-sanitizer. session_trust.h describes when
// other users can do this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "session/retention.h"
#include "session/session.h"
#include "session/session_folders.h"

namespace cudadiag::session {

class SessionWriter {
 public:
  // Creates the folder in the first usable root. The folder's name consists of the time and `pid`.
  static base::Result<SessionWriter> create(const std::vector<Root>& roots, std::uint32_t pid,
                                            std::int64_t unix_seconds);

  // Opens a finished session to add reruns. Fails while another process is writing the session. Removes launches that
  // killed reruns left.
  static base::Result<SessionWriter> reopen(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path final_folder() const;
  // Returns the folder of the pass that is being written: the record pass until begin_pass() is called.
  std::filesystem::path pass_folder() const { return folder_ / pass_; }
  const Root& root() const { return root_; }

  // Copies [begin, end) of `file` as the area of process `pid`. `index` distinguishes areas with the same pid, because
  // a process that replaced itself by exec has two. Storing the same index again replaces the earlier copy.
  std::optional<base::Error> store_area(std::size_t index, std::uint32_t pid, int file, std::uint64_t begin,
                                        std::uint64_t end);
  // Returns the areas in the pass folder that processes wrote themselves, because they could not reach the arena.
  std::vector<std::filesystem::path> foreign_areas() const;
  // Creates or replaces a file of the session, which must be below folder(). Never writes to an existing file or
  // through a link.
  std::optional<base::Error> store_text(const std::filesystem::path& file, std::string_view text);
  void drop_passing_launches() { session::drop_passing_launches(lock_); }
  // Removes a file or folder of the session, with everything in it. `place` must be below folder().
  void remove(const std::filesystem::path& place);
  // Returns the folder of the pass that is being written.
  const base::FileDescriptor& opened_pass() const { return pass_fd_; }
  // Creates a file in the pass folder. Returns an invalid descriptor, with errno set, if the file exists already.
  base::FileDescriptor create_file(const std::string& name) const;
  std::optional<base::Error> store_manifest(const Manifest& manifest);
  std::optional<base::Error> store_races(const Races& races);
  // Stores what `status` and `top` need while the command runs. finish() removes it.
  std::optional<base::Error> store_live_place(const LivePlace& place, const Manifest& manifest);
  void drop_live_place();

  // Returns whether the latest attempt to store something failed because the disk was full or a limit was reached.
  bool lacks_room() const { return lacks_room_; }

  // Creates a folder for a rerun ("NAME", "NAME-2" and so on), to which later areas are written. Returns its name.
  base::Result<std::string> begin_pass(const std::string& name);

  // Removes the suffix from the folder's name, points `latest` to this session and removes old sessions.
  std::optional<base::Error> finish(const Retention& retention = {});
  // Returns the names of old sessions that finish() has removed.
  const std::vector<std::string>& removed() const { return removed_; }
  // Removes the session, and launches that killed reruns left in others. Call this after a clean run.
  void discard();

 private:
  SessionWriter(Root root, std::filesystem::path folder, base::FileDescriptor root_fd, base::FileDescriptor lock,
                base::FileDescriptor pass)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        root_fd_(std::move(root_fd)),
        lock_(std::move(lock)),
        pass_fd_(std::move(pass)) {}
  static base::Result<SessionWriter> create_in_root(const Root& root, base::FileDescriptor root_fd,
                                                    const std::string& base);
  bool holds(const char* name) const;
  base::FileDescriptor open_parent(const std::filesystem::path& inside) const;
  std::string area_name(std::size_t index, std::uint32_t pid);

  Root root_;
  std::filesystem::path folder_;
  base::FileDescriptor root_fd_;
  base::FileDescriptor lock_;     // descriptor of folder_, which has the lock
  base::FileDescriptor pass_fd_;  // descriptor of pass_folder()
  std::string pass_ = kRecordFolder;
  std::map<std::size_t, std::string> area_names_;
  bool lacks_room_ = false;
  std::vector<std::string> removed_;
};

// Points `latest` to the newest finished session, or removes the link if there is none. Call this after removing a
// session.
void mend_latest(const std::filesystem::path& root);

}  // namespace cudadiag::session
