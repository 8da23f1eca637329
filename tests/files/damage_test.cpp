// Files with bytes changed, cut off and put in: every one is read or is a FileError, and nothing else happens.
#include "files/files_support.h"

#include <lento/lento.h>

#include <gtest/gtest.h>

#include <zlib.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lento {
namespace {

using test::Folder;

struct Outcome {
  int read = 0;
  int refused = 0;
};

/// Reads a file of this content, and every element of it.
void try_to_read(const std::filesystem::path& path, const std::string& content, Outcome& outcome) {
  test::write(path, content);
  try {
    std::vector<Tensor> found;
    if (path.extension() == ".npy") {
      found.push_back(load_tensor(path));
    } else {
      for (const auto& [name, x] : load(path)) found.push_back(x);
    }
    for (const Tensor& x : found) {
      const auto* first = static_cast<const unsigned char*>(x.data_pointer());
      const std::size_t bytes = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
      // A truth value that is neither would be found by whoever uses it.
      for (std::size_t i = 0; i < bytes && x.dtype() == DType::bool_; ++i) ASSERT_LE(first[i], 1);
    }
    if (path.extension() == ".safetensors") load_metadata(path);
    ++outcome.read;
  } catch (const FileError&) {
    ++outcome.refused;
  }
}

/// One change of a kind that damage, or somebody with intentions, makes.
std::string damaged(std::string content, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const int changes = 1 + static_cast<int>(below(3));
  for (int i = 0; i < changes && !content.empty(); ++i) {
    const std::size_t at = below(content.size());
    switch (below(7)) {
      case 0:
        content[at] = static_cast<char>(content[at] ^ 1 << below(8));
        break;
      case 1:
        content[at] = static_cast<char>(below(256));
        break;
      case 2:
        content.resize(at);
        break;
      case 3:
        content.erase(at, 1 + below(9));
        break;
      case 4:
        content.insert(at, content.substr(below(content.size()), 1 + below(40)));
        break;
      case 5: {  // numbers that are large, or wrap round
        const std::string_view kNumbers[] = {"\xff\xff\xff\xff", "\xff\xff\xff\x7f", std::string_view("\0\0\0\0", 4),
                                             "9999999999999999999"};
        const std::string_view number = kNumbers[below(4)];
        content.replace(at, number.size(), number);
        break;
      }
      default: {  // signs that mean something
        constexpr std::string_view kSigns = "{}[]\"\\,:()' 0-.uL";
        content[at] = kSigns[below(kSigns.size())];
      }
    }
  }
  return content;
}

/// An archive of one deflated entry x.npy.
std::string deflated_archive(const std::string& content) {
  const uLong crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  std::string packed(content.size() + 1000, '\0');
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
    return text;
  };
  const std::string name = "x.npy";
  const std::string about = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + number(crc, 4) +
                            number(packed.size(), 4) + number(content.size(), 4) + number(name.size(), 2) +
                            number(0, 2);
  const std::string local = "PK\3\4" + about + name + packed;
  const std::string list = "PK\1\2" + number(20, 2) + about + number(0, 14) + name;
  return local + list + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) + number(list.size(), 4) +
         number(local.size(), 4) + number(0, 2);
}

/// Whole files by the name of the test.
std::string whole(const Folder& folder, const std::string& name) {
  const Tensor matrix = reshape(arange(6), {2, 3}).astype(DType::float32);
  const Tensor truth = tensor({1, 0, 1}).astype(DType::bool_);
  const TensorDict tensors{{"layer.w", matrix}, {"truth", truth}, {"ä", zeros({0, 3})}, {"n", zeros({}, DType::int64)}};
  if (name == "x.safetensors") {
    save(folder / name, tensors, {{"step", "12"}, {"ä", "{\n"}});
  } else if (name == "x.npz") {
    save(folder / name, tensors);
  } else {
    save(folder / "x.npy", matrix);
    if (name == "deflated.npz") return deflated_archive(test::content_of(folder / "x.npy"));
  }
  return test::content_of(folder / name);
}

class DamagedFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(DamagedFiles, AreReadOrRefused) {
  const Folder folder;
  const std::string content = whole(folder, GetParam());
  Outcome untouched;
  try_to_read(folder / GetParam(), content, untouched);
  ASSERT_EQ(untouched.read, 1);
  std::mt19937 random(14);
  Outcome outcome;
  constexpr int kTimes = 10'000;
  for (int i = 0; i < kTimes; ++i) {
    const std::string changed = damaged(content, random);
    try_to_read(folder / GetParam(), changed, outcome);
    if (HasFatalFailure()) FAIL() << "in round " << i;
  }
  EXPECT_EQ(outcome.read + outcome.refused, kTimes);
  EXPECT_GT(outcome.read, kTimes / 100);
  EXPECT_GT(outcome.refused, kTimes / 5);
}

TEST_P(DamagedFiles, AreRefusedWhenTheyAreCutOff) {
  const Folder folder;
  const std::string content = whole(folder, GetParam());
  Outcome outcome;
  for (std::size_t size = 0; size < content.size(); ++size) {
    try_to_read(folder / GetParam(), content.substr(0, size), outcome);
  }
  EXPECT_EQ(outcome.read, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedFiles, ::testing::Values("x.safetensors", "x.npz", "deflated.npz", "x.npy"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

}  // namespace
}  // namespace lento
