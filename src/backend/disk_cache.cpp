#include "backend/disk_cache.h"

#include "base/counters.h"
#include "base/fail.h"
#include "base/fork.h"
#include "base/notices.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace lento {

namespace {

/// Guards the state of all caches, of which a process has one.
struct StateMutex : ForkMutex {
  StateMutex() : ForkMutex(ForkOrder::cache) {}
};
std::mutex& state_mutex() { return ProcessLifetime<StateMutex>::get(); }

const CounterId kHit = counter_id("kernel.disk_hit");
const CounterId kStore = counter_id("kernel.disk_store");
const CounterId kReject = counter_id("kernel.disk_reject");
const CounterId kEvict = counter_id("kernel.disk_evict");

constexpr std::size_t kDefaultLimit = std::size_t{256} << 20;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;  // what says it is larger is damaged
constexpr std::time_t kTouchAfter = 24 * 60 * 60;            // seconds: the age from which a hit renews a file's time
constexpr std::time_t kLeftoverAfter = 10 * 60;              // seconds: no process takes that long to write a file

constexpr std::string_view kSuffix = ".code";
constexpr std::string_view kNewPrefix = ".new-";  // files that are being written

/// The beginning of a file; the identity and the code follow.
struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t identity_bytes;
  std::uint64_t code_bytes;
  std::array<std::byte, 16> checksum;  // of the file with zeros here
};
static_assert(sizeof(Header) == 40);
constexpr std::array<char, 8> kMagic = {'l', 'e', 'n', 't', 'o', 'c', 'o', 'd'};
constexpr std::uint32_t kVersion = 1;

using Digest = std::array<std::byte, 16>;

Digest digest_of(DiskCache::Bytes bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

/// A descriptor that is closed with it.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { (void)close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  bool close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor < 0 || ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

/// Whether nobody but the user can have written it.
bool is_safe(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool read_all(int file, std::byte* data, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t got = ::read(file, data, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, DiskCache::Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

/// A file as it lies on disk.
std::vector<std::byte> pack(DiskCache::Bytes identity, DiskCache::Bytes code) {
  Header header{kMagic, kVersion, static_cast<std::uint32_t>(identity.size()), code.size(), {}};
  std::vector<std::byte> file(sizeof header + identity.size() + code.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::ranges::copy(identity, file.begin() + sizeof header);
  std::ranges::copy(code, file.begin() + static_cast<std::ptrdiff_t>(sizeof header + identity.size()));
  header.checksum = digest_of(file);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

/// The code of a file that pack() made of this identity; nothing for any other bytes. Every length is checked before it
/// is used. Clears the checksum in the file.
std::optional<DiskCache::Bytes> unpack(std::span<std::byte> file, DiskCache::Bytes identity) {
  Header header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kMagic || header.version != kVersion || header.identity_bytes != identity.size()) {
    return std::nullopt;
  }
  const std::size_t rest = file.size() - sizeof header;
  if (rest < identity.size() || header.code_bytes != rest - identity.size()) return std::nullopt;
  const Digest expected = std::exchange(header.checksum, {});
  std::memcpy(file.data(), &header, sizeof header);
  if (digest_of(file) != expected) return std::nullopt;
  const DiskCache::Bytes body = DiskCache::Bytes(file).subspan(sizeof header);
  if (!std::ranges::equal(body.first(identity.size()), identity)) return std::nullopt;
  return body.subspan(identity.size());
}

bool is_code_name(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 32 + kSuffix.size() && name.ends_with(kSuffix) &&
         std::all_of(name.begin(), name.begin() + 32, is_digit);
}

struct Entry {
  std::string name;
  std::size_t bytes;
  timespec used;
  bool leftover;  // of a process that did not live to rename it, or a file that is being written
};

/// The cache's own files in a folder.
std::vector<Entry> list(int folder) {
  std::vector<Entry> entries;
  // A descriptor of its own: reading a folder moves a position that all who share the descriptor share.
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* reading = own < 0 ? nullptr : ::fdopendir(own);
  if (reading == nullptr) {
    if (own >= 0) ::close(own);
    return entries;
  }
  while (const dirent* found = ::readdir(reading)) {
    const std::string_view name = found->d_name;
    const bool leftover = name.starts_with(kNewPrefix) && name.ends_with(kSuffix);
    struct stat status;
    if ((!leftover && !is_code_name(name)) || ::fstatat(own, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode)) {
      continue;
    }
    entries.push_back({std::string(name), static_cast<std::size_t>(status.st_size), status.st_mtim, leftover});
  }
  ::closedir(reading);
  return entries;
}

/// Makes a folder and those it lies in. Zero or an errno.
int make_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || !path.has_relative_path()) return errno;
  if (const int error = make_folder(path.parent_path())) return error;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

std::string_view variable(const char* name) {
  const char* text = ::secure_getenv(name);  // a program with more rights than its user does not trust the user's words
  return text == nullptr ? "" : text;
}

/// LENTO_CACHE_DIR, or the place that the XDG base directory specification gives; empty when nothing says where.
std::string folder_of_user() {
  if (const std::string_view given = variable("LENTO_CACHE_DIR"); !given.empty()) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(given, error).lexically_normal();
    if (error) return {};
    return path.has_filename() ? path.string() : path.parent_path().string();
  }
  // A relative path is to be ignored, says the specification.
  if (const std::string_view given = variable("XDG_CACHE_HOME"); given.starts_with('/')) {
    return std::string(given) + "/lento";
  }
  if (const std::string_view home = variable("HOME"); home.starts_with('/')) return std::string(home) + "/.cache/lento";
  return {};
}

std::size_t limit_of_user() {
  const std::string_view given = variable("LENTO_CACHE_LIMIT");
  if (given.empty()) return kDefaultLimit;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), bytes);
  if (error != std::errc() || end != given.data() + given.size()) {
    fail<ValueError>("LENTO_CACHE_LIMIT is '{}'; it must be a number of bytes", given);
  }
  return bytes;
}

bool enabled_by_user() {
  const std::string_view given = variable("LENTO_DISK_CACHE");
  if (given != "" && given != "on" && given != "off") {
    fail<ValueError>("LENTO_DISK_CACHE is '{}'; it must be on or off", given);
  }
  return given != "off";
}

}  // namespace

struct DiskCache::Folder {
  explicit Folder(int descriptor) : file(descriptor) {}
  int get() const { return file.get(); }
  File file;
};

DiskCache::DiskCache(std::string folder, std::size_t limit, bool enabled)
    : path_(std::move(folder)), enabled_at_start_(enabled), enabled_(enabled), limit_(limit) {}
DiskCache::~DiskCache() = default;

std::string DiskCache::file_name(Bytes identity) {
#ifdef LENTO_CONSTANT_HASH
  identity = {};
#endif
  std::string name;
  for (const std::byte byte : digest_of(identity)) name += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return name.append(kSuffix);
}

std::optional<std::vector<std::byte>> DiskCache::load(Bytes identity) {
  const FolderRef folder = enabled() ? open_folder(false) : nullptr;
  if (folder == nullptr) return std::nullopt;
  std::vector<std::byte> code;
  const Outcome outcome = read(*folder, identity, code);
  if (outcome == Outcome::none) return std::nullopt;
  count(outcome == Outcome::found ? kHit : kReject);
  if (outcome == Outcome::rejected) return std::nullopt;
  return code;
}

DiskCache::Outcome DiskCache::read(const Folder& folder, Bytes identity, std::vector<std::byte>& code) {
  // Without O_NONBLOCK opening a pipe would wait for its other end.
  const File file(::openat(folder.get(), file_name(identity).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ENOENT ? Outcome::none : Outcome::rejected;
  struct stat status;
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_safe(status)) return Outcome::rejected;
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) > kLargestFile) return Outcome::rejected;
  // Read rather than mapped: a file that somebody truncates meanwhile is short, and no signal.
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (!read_all(file.get(), bytes.data(), bytes.size())) return Outcome::rejected;
  const std::optional<Bytes> found = unpack(bytes, identity);
  if (!found) return Outcome::rejected;
  code.assign(found->begin(), found->end());
  if (std::abs(std::time(nullptr) - status.st_mtim.tv_sec) > kTouchAfter) (void)::futimens(file.get(), nullptr);
  return Outcome::found;
}

void DiskCache::store(Bytes identity, Bytes code) {
  if (!enabled()) return;
  const std::vector<std::byte> file = pack(identity, code);
  if (file.size() > std::min(limit(), kLargestFile)) return;
  FolderRef folder;
  int error = ENOENT;
  // Twice: somebody may have removed the folder, or tidied up in it.
  for (int attempt = 0; error == ENOENT && attempt < 2; ++attempt) {
    if (attempt > 0) {
      const std::lock_guard lock(state_mutex());
      if (open_ == folder) open_ = nullptr;
    }
    folder = open_folder(true);
    if (folder == nullptr) return;
    error = write(*folder, file_name(identity), file);
  }
  if (error != 0) {
    give_up(writable_, fmt::format("cannot keep compiled code in {}: {}", path_, std::strerror(error)));
    return;
  }
  count(kStore);
  {
    const std::lock_guard lock(state_mutex());
    own_bytes_ += file.size();
    // Other processes store as well: all is counted again before this one alone has added much.
    if (counted_ && known_ + own_bytes_ <= limit() && own_bytes_ <= limit() / 32) return;
  }
  tidy(*folder);
}

int DiskCache::write(const Folder& folder, const std::string& name, Bytes file) {
  // To go over this limit is not only an error, it is a signal that ends the process.
  rlimit most;
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && file.size() > most.rlim_cur) return EFBIG;
  static std::atomic<unsigned> number{0};
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  // Unique without looking: processes that see each other's files may have the same number in containers.
  const std::string temporary =
      fmt::format("{}{}-{}-{}{}", kNewPrefix, ::getpid(), now.tv_sec * 1'000'000'000 + now.tv_nsec,
                  number.fetch_add(1, std::memory_order_relaxed), kSuffix);
  File out(::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return errno;
  if (write_all(out.get(), file) && out.close() &&
      ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) == 0) {
    return 0;
  }
  const int error = errno;
  (void)::unlinkat(folder.get(), temporary.c_str(), 0);
  return error;
}

void DiskCache::tidy(const Folder& folder) {
  std::vector<Entry> entries = list(folder.get());
  const std::time_t now = std::time(nullptr);
  std::size_t total = 0;
  std::erase_if(entries, [&](const Entry& entry) {
    if (!entry.leftover) {
      total += entry.bytes;
    } else if (std::abs(now - entry.used.tv_sec) > kLeftoverAfter) {
      (void)::unlinkat(folder.get(), entry.name.c_str(), 0);
    }
    return entry.leftover;
  });
  if (total > limit()) {
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
    });
    // Some more than is needed, so that not every store counts all files. Processes that evict at once choose the same.
    const std::size_t wanted = limit() - limit() / 8;
    for (const Entry& entry : entries) {
      if (total <= wanted) break;
      if (::unlinkat(folder.get(), entry.name.c_str(), 0) == 0) count(kEvict);
      total -= entry.bytes;
    }
  }
  const std::lock_guard lock(state_mutex());
  counted_ = true;
  known_ = total;
  own_bytes_ = 0;
}

void DiskCache::clear() {
  const FolderRef folder = open_folder(false);
  if (folder == nullptr) return;
  for (const Entry& entry : list(folder->get())) (void)::unlinkat(folder->get(), entry.name.c_str(), 0);
}

std::string DiskCache::folder() const {
  const std::lock_guard lock(state_mutex());
  return usable_ && enabled() ? path_ : std::string();
}

std::size_t DiskCache::bytes() {
  const FolderRef folder = open_folder(false);
  std::size_t total = 0;
  if (folder == nullptr) return total;
  for (const Entry& entry : list(folder->get())) total += entry.bytes;
  return total;
}

void DiskCache::set_limit(std::size_t bytes) {
  limit_.store(bytes, std::memory_order_relaxed);
  if (const FolderRef folder = open_folder(false)) tidy(*folder);
}

DiskCache::FolderRef DiskCache::open_folder(bool make) {
  if (path_.empty()) return nullptr;
  {
    const std::lock_guard lock(state_mutex());
    if (!usable_ || (make && !writable_)) return nullptr;
    if (open_ != nullptr) return open_;
  }
  const int failed = make ? make_folder(path_) : 0;
  if (failed != 0) {
    give_up(writable_, fmt::format("cannot make the folder {} for compiled code: {}", path_, std::strerror(failed)));
    return nullptr;
  }
  auto opened = std::make_shared<Folder>(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened->file) {
    if (errno == ENOENT) return nullptr;
    const int error = errno;
    give_up(usable_, fmt::format("cannot use the folder {} for compiled code: {}", path_, std::strerror(error)));
    return nullptr;
  }
  struct stat status;
  if (::fstat(opened->get(), &status) != 0 || !is_safe(status)) {
    give_up(
        usable_,
        fmt::format("compiled code is not kept in {}: the folder belongs to somebody else, or others may write to it",
                    path_));
    return nullptr;
  }
  const std::lock_guard lock(state_mutex());
  open_ = std::move(opened);
  return open_;
}

void DiskCache::give_up(bool& flag, const std::string& reason) {
  const std::lock_guard lock(state_mutex());
  flag = false;
  if (!std::exchange(told_, true)) leave_notice(reason + "; going on without");
}

DiskCache& disk_cache() {
  // No static object: a fork in the middle of making it would leave the child with half of it.
  static std::atomic<DiskCache*> cache{nullptr};
  if (DiskCache* made = cache.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(state_mutex());
  if (cache.load(std::memory_order_acquire) == nullptr) {
    auto made = std::make_unique<DiskCache>(folder_of_user(), limit_of_user(), enabled_by_user());
    cache.store(made.release(), std::memory_order_release);  // never destroyed: code is kept while the process exits
  }
  return *cache.load(std::memory_order_acquire);
}

}  // namespace lento
