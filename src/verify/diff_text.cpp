#include "verify/diff.h"

#include <algorithm>

namespace asmevo::verify {

using nlohmann::json;

namespace {

struct KindStyle {
  char sign;
  const char* colour; ///< ANSI, as compilers and version control use them
};
constexpr KindStyle styles[diffKinds] = {{' ', ""},         {'~', "\x1b[36m"}, {'>', "\x1b[35m"}, {'w', "\x1b[33m"},
                                         {'!', "\x1b[33m"}, {'-', "\x1b[31m"}, {'+', "\x1b[32m"}};

class TextWriter {
 public:
  TextWriter(const ObjectDiff& diff, const DiffStyle& style) : diff(diff), style(style) {}

  std::string run() {
    if (diff.identical)
      return "identical\n";
    fields(diff.descriptors);
    fields(diff.metadata);
    fields(diff.data);
    fields(diff.symbols);
    for (const BlockDiff& block : diff.blocks)
      write(block);
    if (!diff.renames.empty()) {
      out += "renamed registers:";
      for (const auto& [before, after] : diff.renames)
        out += fmt::format(" {} -> {}", before, after);
      out += '\n';
    }
    out += "instructions:";
    for (std::size_t i = 0; i < diffKinds; ++i)
      if (diff.counts[i] > 0)
        out += fmt::format(" {} {}", diff.counts[i], diffKindName(static_cast<DiffKind>(i)));
    out += '\n';
    if (diff.onlyLayout())
      out += fmt::format("the programs are the same; {} bytes of the files differ\n", diff.bytesDiffer);
    return std::move(out);
  }

 private:
  const ObjectDiff& diff;
  const DiffStyle& style;
  std::string out;

  void line(DiffKind kind, char sign, const std::string& text) {
    const char* colour = styles[static_cast<std::size_t>(kind)].colour;
    if (style.colour && *colour != '\0')
      out += fmt::format("{}{} {}\x1b[0m\n", colour, sign, text);
    else
      out += fmt::format("{} {}\n", sign, text);
  }

  void fields(const std::vector<FieldDiff>& list) {
    for (const FieldDiff& field : list)
      line(DiffKind::changed, '!',
           fmt::format("{}: {} -> {}", field.what, field.before.empty() ? "(none)" : field.before,
                       field.after.empty() ? "(none)" : field.after));
  }

  static std::string at(std::optional<std::uint64_t> address) {
    return address ? fmt::format("{:6x}", *address) : std::string(6, ' ');
  }

  void write(const BlockDiff& block) {
    const auto number = [](std::optional<program::BlockId> id) { return id ? std::to_string(*id) : "none"; };
    out += fmt::format("@@ {}{}block {} -> {} @@\n", block.function, block.function.empty() ? "" : ", ",
                       number(block.before), number(block.after));
    std::vector<bool> shown(block.entries.size());
    for (std::size_t i = 0; i < block.entries.size(); ++i)
      if (block.entries[i].kind != DiffKind::same)
        for (std::size_t k = i - std::min(i, style.context); k <= std::min(i + style.context, shown.size() - 1); ++k)
          shown[k] = true;
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      if (!shown[i]) {
        ++hidden;
        continue;
      }
      if (hidden > 0)
        out += fmt::format("  ... {} same\n", std::exchange(hidden, 0));
      write(block.entries[i]);
    }
    if (hidden > 0)
      out += fmt::format("  ... {} same\n", hidden);
  }

  void write(const DiffEntry& entry) {
    const std::string places = at(entry.before) + " " + at(entry.after);
    const std::string detail = entry.detail.empty() ? "" : "  // " + entry.detail;
    const char sign = styles[static_cast<std::size_t>(entry.kind)].sign;
    const bool isPair = entry.before && entry.after && entry.kind != DiffKind::same;
    if (!isPair)
      return line(entry.kind, sign, places + "  " + (entry.after ? entry.textAfter : entry.textBefore) + detail);
    if (entry.textBefore == entry.textAfter)
      return line(entry.kind, sign, places + "  " + entry.textAfter + detail);
    line(entry.kind, sign, fmt::format("{}  {}  =>  {}{}", places, entry.textBefore, entry.textAfter, detail));
  }
};

json fieldsJson(const std::vector<FieldDiff>& list) {
  json result = json::array();
  for (const FieldDiff& field : list)
    result.push_back({{"what", field.what}, {"k0", field.before}, {"k1", field.after}});
  return result;
}

} // namespace

std::string diffText(const ObjectDiff& diff, const DiffStyle& style) {
  return TextWriter(diff, style).run();
}

json diffJson(const ObjectDiff& diff) {
  json counts = json::object();
  for (std::size_t i = 0; i < diffKinds; ++i)
    counts[diffKindName(static_cast<DiffKind>(i))] = diff.counts[i];
  json blocks = json::array();
  for (const BlockDiff& block : diff.blocks) {
    json entries = json::array();
    for (const DiffEntry& entry : block.entries) {
      json each{{"kind", diffKindName(entry.kind)}};
      if (entry.before)
        each["k0"] = {{"address", *entry.before}, {"text", entry.textBefore}};
      if (entry.after)
        each["k1"] = {{"address", *entry.after}, {"text", entry.textAfter}};
      if (!entry.detail.empty())
        each["detail"] = entry.detail;
      entries.push_back(std::move(each));
    }
    json each{{"function", block.function}, {"entries", std::move(entries)}};
    each["k0_block"] = block.before ? json(*block.before) : json();
    each["k1_block"] = block.after ? json(*block.after) : json();
    blocks.push_back(std::move(each));
  }
  return {{"identical", diff.identical},
          {"only_layout", !diff.identical && diff.onlyLayout()},
          {"bytes_differ", diff.bytesDiffer},
          {"instructions", std::move(counts)},
          {"renames", diff.renames},
          {"descriptors", fieldsJson(diff.descriptors)},
          {"metadata", fieldsJson(diff.metadata)},
          {"data", fieldsJson(diff.data)},
          {"symbols", fieldsJson(diff.symbols)},
          {"blocks", std::move(blocks)}};
}

} // namespace asmevo::verify
