// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/pack.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/base/output_file.h"
#include "rdbtool/base/remover.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/trace/format/block_reader.h"
#include "rdbtool/trace/format/tar.h"
#include "rdbtool/trace/format/zstd_stream.h"
#include "rdbtool/trace/trace_dir.h"
#include "rdbtool/trace/trace_files.h"
#include "rdbtool/trace/trace_reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

namespace rdb::trace {
namespace {

constexpr size_t kPiece = 256 << 10;

// What may stand below the folder of a trace in an archive.
bool belongs_to_trace(const std::string& path) {
  size_t slash = path.find('/');
  std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  std::string name = path.substr(slash + 1); // all of it if there is no slash
  return name.empty() ? is_trace_folder(folder) : is_recorded_file(folder, name);
}

// `part` is the path inside the trace, `top` the trace's folder in the archive. `tail` may be null.
void pack_file(ZstdFileWriter& out, const std::string& trace, const std::string& top, const std::string& part,
               const LogTail* tail = nullptr) {
  std::string path = trace + "/" + part, name = top + part;
  OwnedFd fd = open_in_trace(trace, part);
  struct stat status;
  if (fstat(fd.get(), &status) != 0) throw_errno(path, "cannot be looked at");
  auto from_file = static_cast<uint64_t>(status.st_size);
  if (tail != nullptr) from_file = std::min(from_file, tail->begin);
  std::span<const uint8_t> rest;
  if (tail != nullptr && from_file == tail->begin) rest = tail->bytes;
  TarEntry entry = {name, from_file + rest.size(), static_cast<uint64_t>(status.st_mtim.tv_sec)};
  uint8_t block[kTarBlock];
  write_tar_header(entry, block);
  out.write(block, sizeof block);
  std::vector<uint8_t> piece(kPiece);
  for (uint64_t at = 0; at < from_file;) {
    size_t size =
        pread_some(fd.get(), piece.data(), std::min<uint64_t>(piece.size(), from_file - at), at, path);
    if (size == 0) user_error("{}: became shorter while it was packed", path);
    out.write(piece.data(), size);
    at += size;
  }
  out.write(rest.data(), rest.size());
  std::memset(block, 0, sizeof block);
  out.write(block, tar_padding(entry.size));
}

void pack_directory(ZstdFileWriter& out, const std::string& name) {
  uint8_t block[kTarBlock];
  write_tar_header({name + "/"}, block);
  out.write(block, sizeof block);
}

// Reads the archive and makes its files below `into`.
class Unpacker {
public:
  Unpacker(const std::string& file, std::string into) : file_(file), in_(file), into_(std::move(into)) {}

  // Gives the name of the trace's folder in the archive.
  std::string run() {
    TarEntry entry;
    while (next(entry))
      unpack(entry);
    if (!has_metadata_) user_error("{}: holds no trace (no metadata.json)", file_);
    // To the end: zstd's checksum is the last thing in the file.
    uint8_t rest[kTarBlock];
    while (in_.read(rest, sizeof rest) != 0) {
    }
    return top_;
  }

private:
  bool next(TarEntry& entry) {
    uint8_t block[kTarBlock];
    if (in_.read(block, sizeof block) != sizeof block)
      user_error("{}: ends in the middle of the archive", file_);
    switch (read_tar_header(block, entry)) {
    case TarHeader::end:
      return false;
    case TarHeader::none:
      user_error("{}: not a packed trace: no tar header where one should be", file_);
    case TarHeader::other_type:
      user_error("{}: refused: '{}' in it is neither a file nor a directory", file_, entry.path);
    case TarHeader::entry:
      break;
    }
    return true;
  }

  // The part of the path below the trace's own folder, which must be one and the same for all.
  std::string inside(const std::string& path) {
    size_t slash = path.find('/');
    std::string top = path.substr(0, slash);
    if (slash == std::string::npos || top.empty() || top == "." || top == ".." || !is_visible(path) ||
        (!top_.empty() && top != top_))
      user_error("{}: refused: '{}' in it lies outside the trace", file_, path);
    top_ = top;
    return path.substr(slash + 1);
  }

  void unpack(const TarEntry& entry) {
    std::string path = inside(entry.path);
    if (path.empty()) return;
    if (++entries_ > kMaxEntries) user_error("{}: refused: it holds more than {} files", file_, kMaxEntries);
    if (!belongs_to_trace(path)) user_error("{}: refused: '{}' is no part of a trace", file_, entry.path);
    has_metadata_ |= path == "metadata.json";
    fs::path target = fs::path(into_) / path;
    if (entry.is_directory()) {
      make_directory(target.parent_path().string());
      return;
    }
    make_directory(target.parent_path().string());
    unpack_file(entry, path, target.string());
  }

  static void make_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(path, "cannot make a directory");
  }

  void unpack_file(const TarEntry& entry, const std::string& path, const std::string& target) {
    OwnedFd fd(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd && errno == EEXIST) user_error("{}: refused: '{}' is in it twice", file_, entry.path);
    if (!fd) throw_errno(target, "cannot open");
    std::vector<uint8_t> piece(kPiece);
    Xxh64 hash;
    for (uint64_t at = 0; at < entry.size;) {
      size_t wanted = std::min<uint64_t>(piece.size(), entry.size - at);
      size_t size = in_.read(piece.data(), wanted);
      if (size != wanted) user_error("{}: ends in the middle of '{}'", file_, entry.path);
      hash.update(piece.data(), size);
      bool zeros = std::all_of(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(size),
                               [](uint8_t b) { return b == 0; });
      if (!zeros) { // zeros become holes
        note_growth(size);
        pwrite_all(fd.get(), piece.data(), size, at, target);
      }
      at += size;
    }
    if (ftruncate(fd.get(), static_cast<off_t>(entry.size)) != 0) throw_errno(target, "cannot write");
    uint8_t padding[kTarBlock];
    if (in_.read(padding, tar_padding(entry.size)) != tar_padding(entry.size))
      user_error("{}: ends in the middle of '{}'", file_, entry.path);
    ContentId id;
    if (path.starts_with("files/") && parse_content_id(path.substr(6), id) &&
        id != ContentId{hash.digest(), entry.size} && !has_content(fd.get(), target, id))
      user_error("{}: '{}' does not have the content that its name says", file_, entry.path);
  }

  // A few kilobytes of zstd can stand for all that the disk has room for. The logs of a trace are compressed
  // already, so only the files that the program mapped become larger.
  void note_growth(size_t size) {
    written_ += size;
    if (written_ > kMaxGrowth * in_.consumed() + kAlwaysAllowed)
      user_error("{}: refused: its content is more than {} times as large as itself", file_, kMaxGrowth);
  }

  static constexpr size_t kMaxEntries = 5'000'000;
  static constexpr uint64_t kMaxGrowth = 1000, kAlwaysAllowed = 256 << 20;

  std::string file_;
  ZstdFileReader in_;
  std::string into_;
  std::string top_;
  bool has_metadata_ = false;
  size_t entries_ = 0;
  uint64_t written_ = 0; // without holes
};

// "prog-3" -> "prog"
std::string without_number(const std::string& name) {
  size_t dash = name.rfind('-');
  bool number = dash != std::string::npos && dash != 0 && dash + 1 < name.size() &&
                name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return number ? name.substr(0, dash) : name;
}

// Renames the unpacked folder to its place.
std::string put_in_place(const std::string& fresh, const std::string& name, const std::string& directory) {
  if (!directory.empty()) {
    // An empty directory may stand there; rename replaces nothing else.
    if (rename(fresh.c_str(), directory.c_str()) != 0)
      user_error("{}: cannot unpack there: {}", directory, std::generic_category().message(errno));
    return directory;
  }
  std::string wanted = trace_root() + "/" + name;
  // renameat2 would not be known to every file system; taking the name with mkdir is as atomic.
  if (mkdir(wanted.c_str(), 0700) != 0) wanted = make_trace_directory(without_number(name));
  if (rename(fresh.c_str(), wanted.c_str()) != 0) throw_errno(wanted, "cannot unpack there");
  return wanted;
}

// Opens the trace and reads the headers of all its logs: what cannot be opened is refused now, not at replay.
void check_unpacked(const std::string& path, const std::string& file) {
  try {
    TraceReader trace(path);
    for (const ProcessInfo& process : trace.processes()) {
      InputReader inputs = trace.inputs(process);
      ChunkReader chunks = trace.chunks(process);
      while (inputs.next() != nullptr) {
      }
      while (chunks.next() != nullptr) {
      }
      for (const LogEnd* end : {&inputs.end(), &chunks.end()})
        if (end->kind == LogEnd::Kind::damaged)
          user_error("{}: the trace in it is damaged: {}/{}, offset {}: {}", file, process.name,
                     fs::path(end->file).filename().string(), end->offset, end->reason);
    }
  } catch (const UserError& error) {
    std::string message = error.what();
    // The temporary folder means nothing to the user.
    if (size_t at = message.find(path + "/"); at != std::string::npos) message.erase(at, path.size() + 1);
    if (message.starts_with(file)) user_error("{}", message);
    user_error("{}: {}", file, message);
  }
}

} // namespace

std::string pack_trace(const std::string& trace_path, const std::string& file) {
  TraceReader trace(fs::absolute(trace_path).string() + "/");
  if (int pid = RecorderLock::holder(trace_path); pid != 0)
    user_error("{}: is being recorded by process {}; pack it when that has ended", trace_path, pid);
  std::string name = fs::canonical(trace_path).filename().string();
  if (!is_trace_name(name)) name = "trace"; // what rdb unpack would refuse
  std::string top = name + "/";
  std::string damage;
  try {
    ZstdFileWriter out(file);
    pack_directory(out, name);
    pack_file(out, trace_path, top, "metadata.json");
    for (const ProcessInfo& process : trace.processes()) {
      pack_directory(out, top + process.name);
      auto inputs = trace.tail(process, LogKind::inputs), chunks = trace.tail(process, LogKind::chunks);
      pack_file(out, trace_path, top, process.name + "/process.json");
      pack_file(out, trace_path, top, process.name + "/inputs", inputs.get());
      pack_file(out, trace_path, top, process.name + "/chunks", chunks.get());
      // The damage of a log is packed with it, that of a ring is not.
      bool is_whole = inputs == nullptr || inputs->end.kind != LogEnd::Kind::damaged;
      if (!is_whole && damage.empty())
        damage = fmt::format("{}, offset {}: {}", inputs->end.file, inputs->end.offset, inputs->end.reason);
    }
    pack_directory(out, top + "files");
    for (const ContentId& id : trace.files().list())
      pack_file(out, trace_path, top, "files/" + to_string(id));
    uint8_t end[2 * kTarBlock] = {};
    out.write(end, sizeof end);
    out.finish();
  } catch (const std::system_error& error) {
    output_failed("", error);
  }
  return damage;
}

std::string unpack_trace(const std::string& file, const std::string& directory) {
  if (!directory.empty()) check_new_trace(directory);
  if (access(file.c_str(), R_OK) != 0) user_error("{}: {}", file, std::generic_category().message(errno));
  // Beside its final place, so that a rename puts it there.
  std::string parent =
      directory.empty() ? trace_root() : fs::absolute(directory).lexically_normal().parent_path().string();
  std::error_code error;
  if (directory.empty()) fs::create_directories(parent, error);
  std::unique_ptr<Remover> remover =
      Remover::make(parent + "/.unpack-", [](const char* path) { return mkdir(path, 0700) == 0; });
  if (!remover) user_error("{}: cannot unpack there: {}", parent, std::generic_category().message(errno));
  const std::string& fresh = remover->path();
  try {
    std::string name = Unpacker(file, fresh).run();
    if (directory.empty() && !is_trace_name(name))
      user_error("{}: refused: the trace in it is called '{}'; give it a name with -o", file, name);
    check_unpacked(fresh, file);
    return put_in_place(fresh, name, directory);
  } catch (const std::system_error& trouble) {
    fs::remove_all(fresh, error);
    user_error("{}", trouble.what());
  } catch (...) {
    fs::remove_all(fresh, error);
    throw;
  }
}

} // namespace rdb::trace
