#include "program/text_diagnostics.h"

#include <algorithm>
#include <set>

namespace asmevo::program {

namespace {

constexpr std::size_t longestShownLine = 160;

/// What of an LLVM opcode name is not the mnemonic: encoding forms, addressing forms and hardware generations.
bool isNameSuffix(std::string_view part) {
  static const std::set<std::string_view> suffixes = {
      "e32",   "e64",   "dpp",   "dpp8",   "sdwa",  "vi",     "si",     "ci",  "real", "rtn",
      "saddr", "offen", "idxen", "bothen", "exact", "offset", "addr64", "imm", "sgpr", "st",
      "svs",   "sv",    "ss",    "vgpr",   "t16",   "fake16", "w32",    "w64", "gfx9", "gfx90a"};
  return suffixes.contains(part) || part.starts_with("gfx") || part.starts_with("e64");
}

std::string mnemonicOf(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (;;) {
    const std::size_t cut = name.rfind('_');
    if (cut == std::string::npos || cut == 0 || !isNameSuffix(std::string_view(name).substr(cut + 1)))
      return name;
    name.resize(cut);
  }
}

} // namespace

void TextDiagnostics::error(const Statement& statement, std::size_t offset, const std::string& message,
                            const std::string& hint) {
  if (++count > most)
    return;
  const std::size_t column = statement.column + offset;
  text += fmt::format("{}{}:{}:{}: {}\n", text.empty() ? "" : "\n", file, statement.line + 1, column + 1, message);
  std::string source(lines.raw[statement.line].substr(0, longestShownLine));
  std::string caret;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto c = static_cast<unsigned char>(source[i]);
    if (c < 0x20 && c != '\t')
      source[i] = '?';
    if (i < column)
      caret += c == '\t' ? '\t' : ' ';
  }
  text += source + "\n";
  if (column <= longestShownLine)
    text += caret + "^";
  if (!hint.empty())
    text += fmt::format("\n{}:{}: {}", file, statement.line + 1, hint);
}

void TextDiagnostics::error(const std::string& message) {
  if (++count <= most)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", file, message);
}

Error TextDiagnostics::asError() const {
  std::string all = text;
  if (count > most)
    all += fmt::format("\n{}: and {} more", file, count - most);
  return {ErrorKind::badInput, std::move(all)};
}

std::string TextDiagnostics::place(const Statement& statement) const {
  return fmt::format("{}:{}", file, statement.line + 1);
}

std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit) {
  constexpr std::size_t longest = 64;
  if (a.size() > longest || b.size() > longest || std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit)
    return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    std::size_t smallest = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
      smallest = std::min(smallest, now[j]);
    }
    if (smallest > limit)
      return limit + 1;
    before.swap(last);
    last.swap(now);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::size_t best = word.size() / 3 + 1;
  std::string found;
  for (const std::string& candidate : candidates)
    if (const std::size_t distance = editDistance(word, candidate, best); distance < best || found.empty()) {
      if (distance > best)
        continue;
      best = distance;
      found = candidate;
    }
  return found;
}

std::vector<std::string> nearestMnemonics(std::string_view word, isa::Codec& codec) {
  constexpr std::size_t mostProbes = 40, mostShown = 3;
  for (const std::string_view encoding : {"_e32", "_e64", "_dpp", "_sdwa"})
    if (word.ends_with(encoding))
      word.remove_suffix(encoding.size());
  const std::size_t limit = word.size() / 3 + 2;
  std::set<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : codec.opcodeNames()) {
    std::string mnemonic = mnemonicOf(name);
    if (const std::size_t distance = editDistance(word, mnemonic, limit); distance <= limit && mnemonic != word)
      ranked.emplace(distance, std::move(mnemonic));
  }
  std::vector<std::string> found;
  std::size_t probes = 0, best = limit;
  for (const auto& [distance, mnemonic] : ranked) {
    if (++probes > mostProbes || found.size() == mostShown || distance > best + 1)
      break;
    // The assembler knows what the target has: without operands, a mnemonic of the target is refused for those.
    isa::AssemblerDiagnostic diagnostic;
    const auto assembled = codec.assemble(mnemonic, diagnostic);
    if (assembled || (diagnostic.message.find("not supported") == std::string::npos &&
                      diagnostic.message.find("invalid instruction") == std::string::npos)) {
      best = std::min(best, distance);
      found.push_back(mnemonic);
    }
  }
  return found;
}

} // namespace asmevo::program
