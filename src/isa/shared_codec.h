/// One codec for what several owners decode, on several threads.
#pragma once

#include "isa/codec.h"

#include <mutex>

namespace asmevo::isa {

/// Making a codec, and decoding what many objects of one target have in common, costs more than the rest of loading
/// them. What it decodes lives as long as it.
class SharedCodec {
 public:
  /// Made for the first object that is asked for.
  Status prepare(const object::CodeObject& object) {
    const std::lock_guard guard(lock);
    if (!codec) {
      ASMEVO_TRY(codec, Codec::create(object));
    }
    return {};
  }
  /// The prepared codec, for as long as the result lives.
  class Use {
   public:
    explicit Use(SharedCodec& shared) : guard(shared.lock), codec(*shared.codec) {}
    InstRef decode(std::span<const std::uint8_t> bytes) const { return codec.decode(bytes); }

   private:
    std::lock_guard<std::mutex> guard;
    Codec& codec;
  };

 private:
  std::mutex lock;
  std::unique_ptr<Codec> codec;
};

} // namespace asmevo::isa
