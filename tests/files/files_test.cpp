// save and load from C++: what is written is read, what is wrong is said.
#include "files/files_support.h"

#include <lento/lento.h>

#include "base/interrupt.h"
#include "files/input_file.h"
#include "files/malformed.h"
#include "files/safetensors.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace lento {
namespace {

using test::content_of;
using test::Folder;

/// The message of the error E that the call throws.
template <class E, class F>
std::string message_of(const F& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data_pointer(), b.data_pointer(), static_cast<std::size_t>(a.size()) * size_of(a.dtype())) == 0;
}

std::vector<std::string> names_of(const TensorDict& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, x] : tensors) names.push_back(name);
  return names;
}

TEST(Files, WhatIsWrittenIsRead) {
  const Folder folder;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const TensorDict tensors{{"matrix", astype(reshape(arange(6), {2, 3}) % 2, dtype)},
                             {"number", astype(tensor({1}), dtype)},
                             {"empty", zeros({3, 0, 2}, dtype)},
                             {"", zeros({}, dtype)}};
    for (const char* end : {".safetensors", ".npz"}) {
      if (dtype == (end == std::string(".npz") ? DType::bfloat16 : DType::complex128)) continue;
      save(folder / (std::string("x") + end), tensors);
      const TensorDict loaded = load(folder / (std::string("x") + end));
      ASSERT_EQ(loaded.size(), tensors.size());
      for (const auto& [name, x] : tensors)
        EXPECT_TRUE(same(loaded.at(name), x)) << end << " " << name << " " << lento::name(dtype);
    }
    if (dtype == DType::bfloat16) continue;
    for (const auto& [name, x] : tensors) {
      save(folder / "x.npy", x);
      EXPECT_TRUE(same(load_tensor(folder / "x.npy"), x)) << name;
    }
  }
}

TEST(Files, NamesPrefixesAndOrder) {
  const Folder folder;
  const TensorDict tensors{{"model.b", ones({1})}, {"model.a", ones({2})}, {"ä\"\n", ones({3})}};
  save(folder / "x.npz", tensors);
  EXPECT_EQ(names_of(load(folder / "x.npz")), names_of(tensors));
  EXPECT_EQ(names_of(load(folder / "x.npz", "model.")), (std::vector<std::string>{"b", "a"}));
  save(folder / "x.safetensors", tensors);
  EXPECT_EQ(names_of(load(folder / "x.safetensors")), (std::vector<std::string>{"model.a", "model.b", "ä\"\n"}));
  const std::string none = message_of<ValueError>([&] { load(folder / "x.npz", "modle."); });
  EXPECT_NE(none.find("no name begins with 'modle.'; there are 'model.b', 'model.a', 'ä\"\\n'"), none.npos) << none;
}

TEST(Files, MetadataHasEachNameOnce) {
  const std::vector<Metadata::value_type> twice{{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(Metadata(twice), (Metadata{{"a", "3"}, {"b", "2"}}));
}

TEST(Files, MetadataComesBackInItsOrder) {
  const Folder folder;
  const Metadata metadata{{"step", "12"}, {"format", "pt"}, {"ä", "\x01\"}"}};
  save(folder / "x.safetensors", {{"w", ones({1})}}, metadata);
  EXPECT_EQ(load_metadata(folder / "x.safetensors"), metadata);
  EXPECT_EQ(load_metadata(folder / "x.safetensors").at("step"), "12");
  EXPECT_THROW((void)metadata.at("none"), ValueError);
  EXPECT_THROW(save(folder / "x.npz", {{"w", ones({1})}}, metadata), ValueError);
  EXPECT_THROW(load_metadata(folder / "x.npz"), ValueError);
}

TEST(Files, TheBytesAreThoseOfTheFormat) {
  const Folder folder;
  save(folder / "x.safetensors", {{"b", tensor({1, 2}).astype(DType::int8)}, {"a", tensor({1.0f})}}, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"I8","shape":[2],"data_offsets":[4,6]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string length{static_cast<char>(padded.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(content_of(folder / "x.safetensors"), length + padded + std::string("\0\0\x80\x3f\1\2", 6));
  save(folder / "x.npy", tensor({1.0f}));
  const std::string npy = content_of(folder / "x.npy");
  ASSERT_EQ(npy.size(), 132U);
  EXPECT_EQ(npy.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
  EXPECT_EQ(npy.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ");
}

TEST(Files, ErrorsNameTheFileAndTheCallersLine) {
  const Folder folder;
  const int line = __LINE__ + 1;
  const std::string missing = message_of<FileError>([&] { load(folder / "none.safetensors"); });
  EXPECT_EQ(missing, "load: " + (folder / "none.safetensors").native() +
                         ": No such file or directory, at files_test.cpp:" + std::to_string(line));
  test::write(folder / "x.npy", "no array");
  const std::string wrong = message_of<FileError>([&] { load_tensor(folder / "x.npy"); });
  EXPECT_EQ(wrong.find("load_tensor: " + (folder / "x.npy").native() + ": it does not begin as a .npy file, at "), 0U)
      << wrong;
}

TEST(Files, ThePathSaysWhichFunctionIsMeant) {
  const Folder folder;
  const Tensor x = ones({2});
  EXPECT_THROW(save(folder / "x.npy", TensorDict{{"x", x}}), ValueError);
  EXPECT_THROW(save(folder / "x.npz", x), ValueError);
  EXPECT_THROW(save(folder / "x.txt", x), ValueError);
  EXPECT_THROW(load(folder / "x.npy"), ValueError);
  EXPECT_THROW(load_tensor(folder / "x.npz"), ValueError);
  EXPECT_THROW(load(std::string("x\0.npz", 6)), ValueError);
  EXPECT_EQ(folder.count(), 0U);
}

TEST(Files, WhatAFileCannotHoldIsRefusedBeforeItIsTouched) {
  const Folder folder;
  EXPECT_THROW(save(folder / "x.safetensors", {{"__metadata__", ones({1})}}), ValueError);
  EXPECT_THROW(save(folder / "x.safetensors", {{"\xff", ones({1})}}), ValueError);
  EXPECT_THROW(save(folder / "x.safetensors", {{"x", ones({1})}}, {{"a", "\xc0\x80"}}), ValueError);
  EXPECT_THROW(save(folder / "x.safetensors", {{"x", ones({1}, DType::complex128)}}), DTypeError);
  EXPECT_THROW(save(folder / "x.npz", {{"x", ones({1}, DType::bfloat16)}}), DTypeError);
  EXPECT_THROW(save(folder / "x.npz", {{"\xed\xa0\x80", ones({1})}}), ValueError);
  EXPECT_THROW(save(folder / "x.npz", {{std::string("a\0b", 3), ones({1})}}), ValueError);
  EXPECT_THROW(save(folder / "x.npz", {{std::string(70'000, 'x'), ones({1})}}), ValueError);
  EXPECT_THROW(save(folder / "x.npy", ones({1}, DType::bfloat16)), DTypeError);
  EXPECT_THROW(save(folder / "none" / "x.npy", ones({1})), FileError);
  EXPECT_EQ(folder.count(), 0U);
}

TEST(Files, AnOldFileIsReplacedBehindItsLinksAndKeepsItsPermissions) {
  const Folder folder;
  save(folder / "file.npy", zeros({1}));
  std::filesystem::permissions(folder / "file.npy", std::filesystem::perms(0640));
  std::filesystem::create_symlink("file.npy", folder / "link.npy");
  std::filesystem::create_symlink("link.npy", folder / "second.npy");
  save(folder / "second.npy", ones({1}));
  EXPECT_EQ(load_tensor(folder / "file.npy").item<float>(), 1);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second.npy"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.npy"));
  EXPECT_EQ(std::filesystem::status(folder / "file.npy").permissions(), std::filesystem::perms(0640));
  std::filesystem::create_symlink("circle.npy", folder / "circle.npy");
  EXPECT_NE(message_of<FileError>([&] { save(folder / "circle.npy", ones({1})); }).find("levels of symbolic links"),
            std::string::npos);
  EXPECT_EQ(folder.count(), 4U);
}

TEST(Files, WhatIsNoFileIsNotRead) {
  const Folder folder;
  std::filesystem::create_directory(folder / "x.npz");
  EXPECT_NE(message_of<FileError>([&] { load(folder / "x.npz"); }).find("Is a directory"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder / "x.npy").c_str(), 0600), 0);
  EXPECT_NE(message_of<FileError>([&] { load_tensor(folder / "x.npy"); }).find("is no regular file"),
            std::string::npos);
}

TEST(Files, AFileThatIsShortenedWhileItIsRead) {
  const Folder folder;
  save(folder / "x.safetensors", {{"a", ones({2})}, {"b", ones({4096})}});
  const std::filesystem::path path = folder / "x.safetensors";
  const files::InputFile file(path);
  std::filesystem::resize_file(path, file.size() - 4096);
  try {
    files::load_safetensors(file, "");
    FAIL() << "nothing was thrown";
  } catch (const files::Malformed& error) {
    EXPECT_STREQ(error.what(), "the file ended inside 'b'");
  }
}

TEST(Files, AnyTreeIsSavedByTheNamesThatLeadToItsTensors) {
  const Folder folder;
  const std::map<std::string, std::vector<Tensor>> tree{{"a", {ones({1}), zeros({2})}}, {"b", {ones({3})}}};
  save(folder / "x.npz", tree);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : load(folder / "x.npz")) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a.0", "a.1", "b.0"}));
  const nn::BatchNorm norm(2);
  save(folder / "norm.safetensors", norm, {{"step", "1"}});
  EXPECT_EQ(load(folder / "norm.safetensors").size(), norm.state_dict().size());
  const std::tuple<std::map<std::string, Tensor>, Tensor> twice{{{"x", ones({1})}}, ones({1})};
  save(folder / "y.npz", twice);
  EXPECT_TRUE(load(folder / "y.npz").contains("0.x"));
  const std::map<std::string, std::map<std::string, Tensor>> same_name{{"a", {{"b.c", ones({1})}}},
                                                                       {"a.b", {{"c", ones({1})}}}};
  EXPECT_NE(
      message_of<ValueError>([&] { save(folder / "z.npz", same_name); }).find("two tensors would be named 'a.b.c'"),
      std::string::npos);
}

TEST(Files, AnInterruptedSaveLeavesTheOldFileAndNothingElse) {
  struct Interrupted {};
  const Folder folder;
  save(folder / "x.npz", {{"x", ones({2})}});
  const Tensor large = zeros({std::int64_t{80} << 20}, DType::int8);
  eval(large);
  (void)large.data_pointer();
  set_interrupt_check([] { throw Interrupted{}; });
  EXPECT_THROW(save(folder / "x.npz", {{"x", large}}), Interrupted);
  set_interrupt_check(nullptr);
  EXPECT_TRUE(same(load(folder / "x.npz").at("x"), ones({2})));
  EXPECT_EQ(folder.count(), 1U);
  save(folder / "x.npz", {{"x", large}});
  set_interrupt_check([] { throw Interrupted{}; });
  EXPECT_THROW(load(folder / "x.npz"), Interrupted);
  set_interrupt_check(nullptr);
}

}  // namespace
}  // namespace lento
