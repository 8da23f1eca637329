// Files of compiled code: whatever becomes of them, what is loaded is what was stored, or nothing.
#include "backend/disk_cache.h"

#include "base/counters.h"
#include "base/notices.h"
#include "temporary_folder.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace lento::testing {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(begin, begin + text.size());
}

const Bytes kIdentity = bytes_of("kernel 1 of build 2 for processor 3");
const Bytes kCode = bytes_of("the code, which is some 60 bytes of whatever the compiler wrote");

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() { (void)take_notices(); }

  fs::path folder() const { return outer_ / "some" / "lento"; }
  fs::path file(const Bytes& identity = kIdentity) const { return folder() / DiskCache::file_name(identity); }
  DiskCache make(std::size_t limit = 1 << 20) const { return DiskCache(folder().string(), limit); }

  static Bytes read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return bytes_of(text);
  }
  static void write(const fs::path& path, const Bytes& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  /// Everything that lies in the folder, if there is one.
  std::map<fs::path, Bytes> contents() const {
    std::map<fs::path, Bytes> files;
    if (!fs::is_directory(folder())) return files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder())) files[entry.path()] = read(entry.path());
    return files;
  }

  /// What is in the file is refused, and replaced by the next store.
  void expect_rejected(const std::string& what) {
    DiskCache cache = make();
    const std::uint64_t before = counter_value("kernel.disk_reject");
    EXPECT_EQ(cache.load(kIdentity), std::nullopt) << what;
    EXPECT_EQ(counter_value("kernel.disk_reject"), before + 1) << what;
    cache.store(kIdentity, kCode);
    EXPECT_EQ(cache.load(kIdentity), kCode) << what;
  }

  const TemporaryFolder temporary_;
  const fs::path outer_ = temporary_.path();
};

TEST_F(DiskCacheTest, E11_GivesBackWhatItWasGiven) {
  DiskCache cache = make();
  EXPECT_EQ(cache.load(kIdentity), std::nullopt);
  EXPECT_FALSE(fs::exists(folder())) << "looking makes no folder";
  cache.store(kIdentity, kCode);
  EXPECT_EQ(cache.load(kIdentity), kCode);
  EXPECT_EQ(make().load(kIdentity), kCode);
  EXPECT_EQ(cache.load(bytes_of("another")), std::nullopt);
  cache.store(kIdentity, bytes_of("other code"));
  EXPECT_EQ(cache.load(kIdentity), bytes_of("other code"));
  cache.store(bytes_of(""), bytes_of(""));
  EXPECT_EQ(cache.load(bytes_of("")), bytes_of(""));
}

TEST_F(DiskCacheTest, E11_FolderAndFilesAreTheUsersAlone) {
  make().store(kIdentity, kCode);
  const auto mode = [](const fs::path& path) { return fs::status(path).permissions(); };
  EXPECT_EQ(mode(folder()), fs::perms::owner_all);
  EXPECT_EQ(mode(folder().parent_path()), fs::perms::owner_all);
  EXPECT_EQ(mode(file()), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(DiskCacheTest, E11_NothingIsReadOrWrittenWhileItIsOff) {
  DiskCache cache = make();
  cache.store(kIdentity, kCode);
  cache.set_enabled(false);
  EXPECT_EQ(cache.load(kIdentity), std::nullopt);
  const auto before = contents();
  cache.store(bytes_of("another"), kCode);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(cache.folder(), "");
  DiskCache nowhere("", 1 << 20);
  nowhere.store(kIdentity, kCode);
  EXPECT_EQ(nowhere.load(kIdentity), std::nullopt);
  EXPECT_EQ(nowhere.bytes(), 0U);
  EXPECT_TRUE(take_notices().empty());
}

// --- damage ---

TEST_F(DiskCacheTest, E11_AFileOfAnyOtherLengthIsRejected) {
  make().store(kIdentity, kCode);
  const Bytes whole = read(file());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(file(), Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    expect_rejected("of length " + std::to_string(length));
  }
  for (const std::size_t more : {1U, 4096U}) {
    Bytes longer = whole;
    longer.resize(whole.size() + more);
    write(file(), longer);
    expect_rejected("longer by " + std::to_string(more));
  }
}

TEST_F(DiskCacheTest, E11_AFileWithAnyByteChangedIsRejected) {
  make().store(kIdentity, kCode);
  const Bytes whole = read(file());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(change);
      write(file(), changed);
      expect_rejected("changed at " + std::to_string(at));
    }
  }
  write(file(), Bytes(whole.size()));
  expect_rejected("all zeros");
}

/// Makes the checksum right again: only what else is checked can find the change.
Bytes sealed(Bytes file) {
  std::fill_n(file.begin() + 24, 16, std::byte{0});
  XXH128_canonical_t checksum;
  XXH128_canonicalFromHash(&checksum, XXH3_128bits(file.data(), file.size()));
  std::memcpy(file.data() + 24, checksum.digest, 16);
  return file;
}

TEST_F(DiskCacheTest, E11_AWholeFileThatIsNotForThisIsRejected) {
  make().store(kIdentity, kCode);
  const Bytes whole = read(file());
  ASSERT_EQ(sealed(whole), whole);
  // Magic, version, lengths, identity: everything but the code itself.
  for (std::size_t at = 0; at < 40 + kIdentity.size(); ++at) {
    if (at >= 24 && at < 40) continue;  // the checksum
    for (const unsigned change : {0x01U, 0x10U, 0xffU}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(change);
      write(file(), sealed(changed));
      expect_rejected("sealed after a change at " + std::to_string(at));
    }
  }
  // The file of another kernel under this one's name: hashes are not trusted.
  make().store(bytes_of("another"), kCode);
  write(file(), read(file(bytes_of("another"))));
  expect_rejected("another kernel's");
}

// --- others ---

TEST_F(DiskCacheTest, E11_LinksPipesAndFilesThatOthersMayWriteAreRejected) {
  make().store(kIdentity, kCode);
  const fs::path elsewhere = outer_ / "elsewhere";
  fs::rename(file(), elsewhere);
  fs::create_symlink(elsewhere, file());
  expect_rejected("a link");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file()))) << "the link is replaced, not what it points to";
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expect_rejected("a pipe");
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    ASSERT_EQ(::chmod(file().c_str(), mode), 0);
    expect_rejected("writable by others");
  }
  if (::geteuid() == 0) {  // only root can give a file away
    ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
    expect_rejected("somebody else's");
  }
}

TEST_F(DiskCacheTest, E11_AFolderThatIsNotSafeIsNotUsed) {
  make().store(kIdentity, kCode);
  const auto expect_unused = [&](std::string_view reason) {
    DiskCache cache = make();
    EXPECT_EQ(cache.load(kIdentity), std::nullopt);
    const auto before = contents();
    cache.store(bytes_of("another"), kCode);
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(cache.folder(), "");
    EXPECT_EQ(cache.bytes(), 0U);
    const std::vector<std::string> notices = take_notices();
    ASSERT_EQ(notices.size(), 1U) << reason;
    EXPECT_NE(notices[0].find(reason), std::string::npos) << notices[0];
  };
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  expect_unused("others may write to it");
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
    expect_unused("belongs to somebody else");
    ASSERT_EQ(::chown(folder().c_str(), 0, 0), 0);
  }
  fs::rename(folder(), outer_ / "elsewhere");
  fs::create_directory_symlink(outer_ / "elsewhere", folder());
  expect_unused("cannot use the folder");
  fs::remove(folder());
  write(folder(), {});
  expect_unused("Not a directory");
}

// --- no room ---

/// Runs in a process of its own, since it changes what the process may do.
void expect_in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(holds() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(DiskCacheTest, E11_AFolderThatCannotBeWrittenIsStillRead) {
  make().store(kIdentity, kCode);
  expect_in_child([&] {
    if (::geteuid() == 0) {  // whom no permission stops
      if (::chmod(outer_.c_str(), 0755) != 0 || ::chmod(folder().parent_path().c_str(), 0755) != 0) return false;
      if (::chown(folder().c_str(), 12345, 0) != 0 || ::chown(file().c_str(), 12345, 0) != 0) return false;
      if (::setuid(12345) != 0) return false;
    }
    if (::chmod(folder().c_str(), 0500) != 0) return false;
    DiskCache cache = make();
    cache.store(bytes_of("another"), kCode);
    cache.store(bytes_of("a third"), kCode);
    const bool told_once = take_notices().size() == 1;
    const bool read = cache.load(kIdentity) == kCode && !cache.load(bytes_of("another"));
    return ::chmod(folder().c_str(), 0700) == 0 && told_once && read && cache.folder() == folder();
  });
}

TEST_F(DiskCacheTest, E11_AFileThatMayNotGrowSoLargeIsNotWritten) {
  expect_in_child([&] {
    const rlimit small{64, 64};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return false;
    DiskCache cache = make();
    cache.store(kIdentity, kCode);
    cache.store(kIdentity, kCode);
    return take_notices().size() == 1 && !cache.load(kIdentity) && fs::is_empty(folder());
  });
}

TEST_F(DiskCacheTest, E11_AFolderThatCannotBeMadeIsDoneWithout) {
  write(outer_ / "some", {});
  DiskCache cache = make();
  cache.store(kIdentity, kCode);
  cache.store(kIdentity, kCode);
  EXPECT_EQ(cache.load(kIdentity), std::nullopt);
  const std::vector<std::string> notices = take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find(folder().string()), std::string::npos);
}

TEST_F(DiskCacheTest, E11_AFolderThatIsRemovedIsMadeAnew) {
  DiskCache cache = make();
  cache.store(kIdentity, kCode);
  fs::remove_all(folder());
  EXPECT_EQ(cache.load(kIdentity), std::nullopt);
  cache.store(kIdentity, kCode);
  EXPECT_EQ(cache.load(kIdentity), kCode);
  EXPECT_TRUE(take_notices().empty());
}

// --- the limit ---

#ifndef LENTO_CONSTANT_HASH  // where all files have one name
Bytes identity(int number) { return bytes_of("kernel " + std::to_string(number)); }

void set_age(const fs::path& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

TEST_F(DiskCacheTest, E11_TheLimitHoldsAfterEveryStore) {
  constexpr std::size_t kLimit = 20'000;
  DiskCache cache = make(kLimit);
  const std::uint64_t before = counter_value("kernel.disk_evict");
  for (int i = 0; i < 100; ++i) {
    cache.store(identity(i), Bytes(static_cast<std::size_t>(500 + 13 * i)));
    EXPECT_LE(cache.bytes(), kLimit);
    EXPECT_TRUE(cache.load(identity(i))) << "what is new stays";
  }
  EXPECT_GT(cache.bytes(), kLimit / 2);
  EXPECT_GT(counter_value("kernel.disk_evict"), before);
  cache.store(identity(100), Bytes(kLimit));
  EXPECT_FALSE(cache.load(identity(100))) << "what could never fit evicts nothing";
  EXPECT_TRUE(cache.load(identity(99)));
  cache.set_limit(3000);
  EXPECT_LE(cache.bytes(), 3000U);
  cache.set_limit(0);
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST_F(DiskCacheTest, E11_WhatWasUsedLongestAgoIsEvictedFirst) {
  DiskCache cache = make();
  for (int i = 0; i < 10; ++i) {
    cache.store(identity(i), Bytes(1000));
    set_age(file(identity(i)), std::chrono::hours(24 * (100 - i)));
  }
  EXPECT_TRUE(cache.load(identity(0)));  // the oldest, but used now
  const std::size_t each = cache.bytes() / 10;
  cache.set_limit(4 * each + 1);  // an eighth less is kept: three files
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cache.load(identity(i)).has_value(), i == 0 || i >= 8) << i;
}

TEST_F(DiskCacheTest, E11_OldLeftoversAreRemovedAndWhatIsNotOursStays) {
  DiskCache cache = make();
  cache.store(identity(0), Bytes(100));
  const fs::path old = folder() / ".new-1-2-3.code";
  const fs::path young = folder() / ".new-4-5-6.code";
  const std::vector<fs::path> foreign = {folder() / "notes.txt", folder() / "notes.code", folder() / ".new-thing"};
  for (const fs::path& path : {old, young}) write(path, Bytes(10));
  for (const fs::path& path : foreign) {
    write(path, Bytes(10));
    set_age(path, std::chrono::hours(1000));
  }
  set_age(old, std::chrono::hours(1));
  DiskCache another = make();  // counts at its first store
  another.store(identity(1), Bytes(100));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young)) << "somebody may be writing it";
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_FALSE(fs::exists(young));
  for (const fs::path& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
}
#endif

}  // namespace
}  // namespace lento::testing
