// What is wrong with the content of a file, before anybody has said which file.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace lento::files {

/// Caught where the file is known (files.cpp), which makes a FileError of it.
class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void malformed(fmt::format_string<Args...> text, Args&&... args) {
  throw Malformed(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace lento::files
