/// Results instead of exceptions across room borders: a value or an Error that says what to do about it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

namespace asmevo {

/// What kind of failure an Error is; the command line maps it to an exit code.
enum class ErrorKind {
  badInput, ///< the input file, text or dispatch is malformed (exit 3)
  usage,    ///< the request itself makes no sense (exit 2)
  refused,  ///< well-formed, but something in it is not modelled or not allowed (exit 3)
  fault,    ///< the guest program misbehaved: memory fault, endless loop, deadlock (exit 1)
  internal, ///< the host environment failed us: i/o, out of memory, a bug (exit 3)
};

/// A failure. `message` names file, offset and instruction where they exist, and the remedy.
struct Error {
  ErrorKind kind = ErrorKind::badInput;
  std::string message;
};

template <class... Args> Error badInput(fmt::format_string<Args...> f, Args&&... args) {
  return {ErrorKind::badInput, fmt::format(f, std::forward<Args>(args)...)};
}
template <class... Args> Error usageError(fmt::format_string<Args...> f, Args&&... args) {
  return {ErrorKind::usage, fmt::format(f, std::forward<Args>(args)...)};
}
template <class... Args> Error refused(fmt::format_string<Args...> f, Args&&... args) {
  return {ErrorKind::refused, fmt::format(f, std::forward<Args>(args)...)};
}
template <class... Args> Error faultError(fmt::format_string<Args...> f, Args&&... args) {
  return {ErrorKind::fault, fmt::format(f, std::forward<Args>(args)...)};
}
template <class... Args> Error internalError(fmt::format_string<Args...> f, Args&&... args) {
  return {ErrorKind::internal, fmt::format(f, std::forward<Args>(args)...)};
}

/// A value or an Error. Reading the value of a failed result is a programming error (std::get throws).
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T& operator*() & { return std::get<0>(state); }
  const T& operator*() const& { return std::get<0>(state); }
  T&& operator*() && { return std::get<0>(std::move(state)); }
  T* operator->() { return &std::get<0>(state); }
  const T* operator->() const { return &std::get<0>(state); }
  const Error& error() const& { return std::get<1>(state); }
  Error&& error() && { return std::get<1>(std::move(state)); }

 private:
  std::variant<T, Error> state;
};

/// Success without a value, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : failure(std::move(error)), failed(true) {}
  explicit operator bool() const { return !failed; }
  const Error& error() const& { return failure; }
  Error&& error() && { return std::move(failure); }

 private:
  Error failure;
  bool failed = false;
};

} // namespace asmevo

#define ASMEVO_CONCAT2(a, b) a##b
#define ASMEVO_CONCAT(a, b) ASMEVO_CONCAT2(a, b)
/// ASMEVO_TRY(auto x, expr): x = value of expr, or return its error from this function.
#define ASMEVO_TRY(decl, expr) ASMEVO_TRY_IMPL(ASMEVO_CONCAT(result_, __LINE__), decl, expr)
#define ASMEVO_TRY_IMPL(tmp, decl, expr)                                                                               \
  auto tmp = (expr);                                                                                                   \
  if (!tmp)                                                                                                            \
    return std::move(tmp).error();                                                                                     \
  decl = *std::move(tmp)
/// ASMEVO_CHECK(expr): return the error of a Status expression from this function, if it has one.
#define ASMEVO_CHECK(expr)                                                                                             \
  do {                                                                                                                 \
    if (auto status_ = (expr); !status_)                                                                               \
      return std::move(status_).error();                                                                               \
  } while (false)
