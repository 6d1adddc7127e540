/// Kernels by name as functions of a launch.
#pragma once

#include "host/twins.h"

#include <cstring>
#include <span>
#include <tuple>
#include <utility>

namespace asmevo::host {

/// An argument as the parameter that it becomes; false where it does not fit.
template <class T> bool bind(const Argument& argument, T& parameter) {
  if constexpr (std::is_pointer_v<T>) {
    parameter = reinterpret_cast<T>(argument.pointer);
    return argument.pointer != nullptr;
  } else {
    if (argument.scalar.size() != sizeof(T))
      return false;
    std::memcpy(&parameter, argument.scalar.data(), sizeof(T));
    return true;
  }
}

template <class... P>
std::string call(void (*kernel)(P...), const Shape& shape, const std::vector<Argument>& arguments) {
  if (arguments.size() != sizeof...(P))
    return "wrong number of arguments";
  std::tuple<std::remove_cv_t<P>...> parameters;
  const bool bound = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (bind(arguments[I], std::get<I>(parameters)) && ...);
  }(std::index_sequence_for<P...>{});
  if (!bound)
    return "an argument does not fit its parameter";
  return runGrid(shape, [&] { std::apply(kernel, parameters); }) ? "" : "deadlock";
}

using Run = std::string (*)(const Shape&, const std::vector<Argument>&);
template <auto kernel> std::string run(const Shape& shape, const std::vector<Argument>& arguments) {
  return call(kernel, shape, arguments);
}

struct Twin {
  const char* name;
  Run run;
};

/// The kernels of kernelbench30/, sorted.
std::span<const Twin> kernelBenchTwins();
/// The kernels of reviewer/, sorted.
std::span<const Twin> reviewerTwins();

} // namespace asmevo::host
