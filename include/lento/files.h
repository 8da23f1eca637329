// Tensors in files: .safetensors, and NumPy's .npz and .npy. The end of the path says which.
//
// What is written is the same, byte for byte, whether C++ or Python writes it. Reading runs no code and trusts nothing:
// what is missing or malformed is a FileError that says what is wrong.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/tree.h>

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

/// Texts by name, in the order in which they were added: what a .safetensors file holds besides tensors.
class LENTO_API Metadata {
 public:
  using value_type = std::pair<std::string, std::string>;
  using const_iterator = std::vector<value_type>::const_iterator;

  Metadata() = default;
  /// Metadata{{"step", "12"}}. Of two entries with one name the last counts.
  Metadata(std::initializer_list<value_type> entries);
  /// The same of a vector.
  explicit Metadata(const std::vector<value_type>& entries);

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The text of this name, or null.
  const std::string* find(std::string_view name) const;
  /// The text of this name. Throws ValueError when there is none.
  const std::string& at(std::string_view name, std::source_location site = std::source_location::current()) const;
  void insert_or_assign(std::string_view name, std::string text);

  friend bool operator==(const Metadata&, const Metadata&) = default;

 private:
  std::vector<value_type> entries_;
};

/// Writes tensors by name into a .safetensors or .npz file; only .safetensors files hold metadata. An older file is
/// replaced only when the new one is complete; of a symbolic link, the file it points to. Computes what is pending.
/// Throws ValueError and DTypeError for what such a file cannot hold, FileError when it cannot be written.
LENTO_API void save(const std::filesystem::path& path, const TensorDict& tensors, const Metadata& metadata = {},
                    std::source_location site = std::source_location::current());

/// Writes one tensor into a .npy file, which has no names.
LENTO_API void save(const std::filesystem::path& path, const Tensor& tensor,
                    std::source_location site = std::source_location::current());

namespace detail {

/// The tensors of a tree by name, buffers of modules among them.
class LENTO_API GatherState final : public tree::detail::GatherNames {
 public:
  void buffer(Tensor& x) override;
  /// Throws ValueError where two have one name.
  TensorDict state(const std::source_location& site) const;
};

}  // namespace detail

/// The same of any tree, by the names of members, keys and positions that lead to a tensor: "layers.0.weight". Of a
/// module that is its state dict.
template <tree::Tree T>
  requires(!std::derived_from<T, Tensor> && !std::same_as<T, TensorDict>)
void save(const std::filesystem::path& path, const T& tree, const Metadata& metadata = {},
          std::source_location site = std::source_location::current()) {
  detail::GatherState gather;
  tree::visit(gather, tree);
  save(path, gather.state(site), metadata, site);
}

/// The tensors of a .safetensors or .npz file by name, in the order of the file, on the default device. With a prefix
/// only the names that begin with it, without it; there has to be one (ValueError). Throws FileError.
LENTO_API TensorDict load(const std::filesystem::path& path, std::string_view prefix = "",
                          std::source_location site = std::source_location::current());

/// The tensor of a .npy file. Python's load() returns this too; here what is returned cannot depend on the path, so it
/// has a name of its own.
LENTO_API Tensor load_tensor(const std::filesystem::path& path,
                             std::source_location site = std::source_location::current());

/// The metadata of a .safetensors file; no tensor is read.
LENTO_API Metadata load_metadata(const std::filesystem::path& path,
                                 std::source_location site = std::source_location::current());

}  // namespace lento
