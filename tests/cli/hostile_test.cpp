// Damaged objects through the commands that read one: an answer or exit 3 with a message that names the file, never a
// crash, a hang or half an output. Meant to run under ASan and UBSan too.
#include "cli/cli_support.h"

#include "dispatch/random.h"

namespace asmevo::cli {
namespace {

class Hostile : public CommandTest {};

Bytes damaged(const Bytes& whole, dispatch::SplitMix64& random) {
  Bytes bytes = whole;
  switch (random.next() % 4) {
  case 0:
    bytes.resize(random.next() % bytes.size());
    break;
  case 1: // single bits, half of them in the headers and the note
    for (std::uint64_t n = 1 + random.next() % 6; n > 0; --n) {
      const std::size_t span = random.next() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 2048);
      bytes[random.next() % span] ^= static_cast<std::uint8_t>(1u << random.next() % 8);
    }
    break;
  case 2: // a run of random bytes, often in the code
    for (std::size_t at = random.next() % bytes.size(), n = 1 + random.next() % 64; n > 0 && at < bytes.size();
         --n, ++at)
      bytes[at] = static_cast<std::uint8_t>(random.next());
    break;
  default: // no object at all
    bytes.resize(random.next() % 4096);
    for (auto& byte : bytes)
      byte = static_cast<std::uint8_t>(random.next());
    break;
  }
  return bytes;
}

TEST_F(Hostile, ThousandDamagedFilesThroughTheCommands) {
  const std::vector<std::string> names = {"vector_add", "histogram", "device_call", "table_lookup"};
  std::vector<Bytes> bases;
  for (const auto& name : names)
    bases.push_back(contents(kernelObject(name)));
  dispatch::SplitMix64 random(20261130);
  std::size_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t base = random.next() % bases.size();
    const std::string file = at("damaged.co");
    ASSERT_TRUE(writeFileAtomic(file, damaged(bases[base], random)));
    const std::vector<std::vector<std::string>> commands = {
        {"inspect", file},   {"disasm", file, "-o", at("damaged.s")},
        {"roundtrip", file}, {"roundtrip", "--shift", file},
        {"lint", file},      {"run", file, "-d", kernelDispatch(names[base]), "--max-instructions", "300000"},
    };
    const auto& command = commands[static_cast<std::size_t>(i) % commands.size()];
    const CommandResult result = runCommand(command);
    EXPECT_TRUE(result.exit == ok || result.exit == negative || result.exit == badInput)
        << command[0] << " of mutation " << i << " ended with " << result.exit;
    if (result.exit != badInput)
      continue;
    ++refused;
    EXPECT_NE((result.err + result.out).find("damaged.co"), std::string::npos)
        << command[0] << " of mutation " << i << ": " << result.err;
  }
  // Truncated files and garbage are half of all.
  EXPECT_GT(refused, 400u);
}

} // namespace
} // namespace asmevo::cli
