/// The operations a model may ask for, and their execution. Every answer is JSON; errors are answers too.
#pragma once

#include "optimize/optimize.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace asmevo::agent {

/// The agent's session: the best object so far and what is known about it.
class Session {
 public:
  Session(const object::CodeObject& original, const dispatch::Dispatch& launches, device::Device& dev,
          const optimize::Options& opts)
      : k0(original), dispatch(launches), device(dev), options(opts) {}

  /// Recovers, times and ranks `object` as the best so far.
  Status adopt(const object::CodeObject& object);

  /// Tool descriptions in the chat API's form.
  static nlohmann::json toolTable();
  /// Runs a tool by name on arguments as the model wrote them (a JSON text).
  nlohmann::json call(const std::string& name, const std::string& arguments);

  optimize::Outcome outcome;
  unsigned proposals = 0, accepted = 0;

 private:
  nlohmann::json listWindows() const;
  nlohmann::json readWindow(const nlohmann::json& arguments) const;
  nlohmann::json profile(const nlohmann::json& arguments) const;
  nlohmann::json proposeEdit(const nlohmann::json& arguments);

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  const optimize::Options& options;
  std::unique_ptr<isa::Codec> codec;
  std::optional<object::CodeObject> best;
  program::Program program;
  timing::Estimate estimate;
  std::vector<optimize::HotWindow> windows;
  std::uint64_t codeBase = 0;
};

} // namespace asmevo::agent
