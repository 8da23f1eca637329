// The one error family. Messages are completed in one place with the op and the user's line (src/base/fail.h).
#pragma once

#include <lento/export.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace lento {

enum class ErrorKind : std::uint8_t {
  shape,
  dtype,
  device,
  value,
  index,
  overflow,
  memory,
  linalg,
  backend,
  file,
  device_lost
};

/// Base of everything Lento throws on purpose.
class LENTO_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

  /// Throws this error's own subclass with another message.
  [[noreturn]] static void raise(ErrorKind kind, const std::string& message);

 private:
  ErrorKind kind_;
};

template <ErrorKind k>
class ErrorOf : public Error {
 public:
  static constexpr ErrorKind kKind = k;
  explicit ErrorOf(const std::string& message) : Error(k, message) {}
};

// Distinct named classes rather than aliases, so that they can be caught, forward-declared and seen across libraries.
class LENTO_API ShapeError : public ErrorOf<ErrorKind::shape> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API DTypeError : public ErrorOf<ErrorKind::dtype> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API DeviceError : public ErrorOf<ErrorKind::device> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API ValueError : public ErrorOf<ErrorKind::value> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API IndexError : public ErrorOf<ErrorKind::index> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API OverflowError : public ErrorOf<ErrorKind::overflow> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API MemoryError : public ErrorOf<ErrorKind::memory> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API LinAlgError : public ErrorOf<ErrorKind::linalg> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API BackendError : public ErrorOf<ErrorKind::backend> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API FileError : public ErrorOf<ErrorKind::file> {
 public:
  using ErrorOf::ErrorOf;
};
class LENTO_API DeviceLostError : public ErrorOf<ErrorKind::device_lost> {
 public:
  using ErrorOf::ErrorOf;
};

}  // namespace lento
