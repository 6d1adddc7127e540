/// The language-model loop: the model reads windows and profiles, proposes edits as assembly text, and gets the gate's
/// verdict and modelled cycles back. It decides nothing: the gate of optimize::judge does. Model text is untrusted.
#pragma once

#include "agent/chat_client.h"
#include "optimize/optimize.h"

#include <functional>
#include <string>

namespace asmevo::agent {

struct Options {
  Endpoint endpoint;
  unsigned maxTurns = 60; ///< requests to the endpoint
  double budgetSeconds = 600;
  optimize::Options gate;                           ///< verification options of the gate
  std::function<void(const std::string&)> progress; ///< may be empty
};

struct Outcome {
  optimize::Outcome result; ///< as the built-in search gives it; improved only by accepted edits
  unsigned turns = 0;
  unsigned proposals = 0, accepted = 0;
  std::string lastMessage; ///< the model's last words
};

/// Starts from `start` (K0 itself or an accepted K1 of it); every candidate is verified against `k0`.
Result<Outcome> run(const object::CodeObject& k0, const object::CodeObject& start, const dispatch::Dispatch& dispatch,
                    device::Device& device, const Options& options);

} // namespace asmevo::agent
