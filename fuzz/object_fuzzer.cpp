// libFuzzer entry over the readers, recovery and rebuild.
//   cmake --preset fuzz && ninja -C build/fuzz object_fuzzer
//   build/fuzz/fuzz/object_fuzzer -max_total_time=600 NEW_INPUTS tests/data/fuzz
#include "object_body.h"

#include <cstdio>
#include <cstdlib>

// libFuzzer's interface fixes the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = asmevo::fuzz::checkObject({data, size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "property violated: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
