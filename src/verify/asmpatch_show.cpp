#include "verify/asmpatch.h"

#include <map>
#include <set>

namespace asmevo::verify {

using nlohmann::json;

namespace {

constexpr std::size_t shownContext = 3; ///< unchanged instructions on either side of a change

std::string textOf(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end())
    return "?";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const json& listOf(const json& object, const char* name) {
  static const json none = json::array();
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : none;
}

/// One hunk in the manner of a unified diff.
class HunkText {
 public:
  explicit HunkText(const json& hunk) : hunk(hunk) {
    for (const json& entry : listOf(hunk, "original"))
      originals.emplace_back(textOf(entry, "at"), textOf(entry, "text"));
    for (std::size_t i = 0; i < originals.size(); ++i)
      position.emplace(originals[i].first, i);
  }

  std::string run() {
    if (hunk.is_object() && hunk.contains("new"))
      out = fmt::format("@@ new block {}, {} @@\n", textOf(hunk, "new"),
                        hunk.contains("before") ? "before block " + textOf(hunk, "before")
                                                : "at the end of section " + textOf(hunk, "end_of"));
    else
      out = fmt::format("@@ block {} @@\n", textOf(hunk, "block"));
    collect();
    std::size_t next = 0; // first original that is not written yet
    for (const Entry& entry : entries) {
      if (entry.original) {
        for (; next < *entry.original; ++next)
          if (!kept.contains(next))
            line('-', originals[next].first + "  " + originals[next].second);
        next = std::max(next, *entry.original + 1);
      }
      line(entry.sign, entry.text);
    }
    for (; next < originals.size(); ++next)
      if (!kept.contains(next))
        line('-', originals[next].first + "  " + originals[next].second);
    flushContext(true);
    return std::move(out);
  }

 private:
  struct Entry {
    char sign;
    std::string text;
    std::optional<std::size_t> original;
  };
  const json& hunk;
  std::vector<std::pair<std::string, std::string>> originals;
  std::map<std::string, std::size_t> position;
  std::vector<Entry> entries;
  std::set<std::size_t> kept;
  std::string out;
  std::vector<std::string> context;
  bool anyChange = false;

  void collect() {
    for (const json& entry : listOf(hunk, "replacement")) {
      if (!entry.is_object() || !entry.contains("keep")) {
        const std::string to = entry.is_object() && entry.contains("to") ? " " + textOf(entry, "to") : "";
        entries.push_back({'+', textOf(entry, "asm") + to, {}});
        continue;
      }
      const json& keep = entry["keep"];
      const bool isRange = keep.is_array() && keep.size() == 2 && keep[0].is_string() && keep[1].is_string();
      const std::string first = isRange ? keep[0].get<std::string>() : keep.is_string() ? keep.get<std::string>() : "?";
      const std::string last = isRange ? keep[1].get<std::string>() : first;
      const auto begin = position.find(first), end = position.find(last);
      if (begin == position.end() || end == position.end() || begin->second > end->second) {
        entries.push_back(
            {'+', fmt::format("(the instructions of K0 at {}{})", first, isRange ? " to " + last : ""), {}});
        continue;
      }
      for (std::size_t i = begin->second; i <= end->second; ++i) {
        const bool inOrder = kept.insert(i).second && (kept.upper_bound(i) == kept.end());
        entries.push_back({inOrder ? ' ' : '>', originals[i].first + "  " + originals[i].second,
                           inOrder ? std::optional(i) : std::nullopt});
      }
    }
  }

  void line(char sign, const std::string& text) {
    if (sign == ' ') {
      context.push_back(text);
      return;
    }
    flushContext(false);
    anyChange = true;
    out += fmt::format("{} {}\n", sign, text);
  }

  void flushContext(bool atEnd) {
    const std::size_t head = anyChange ? shownContext : 0, tail = atEnd ? 0 : shownContext;
    for (std::size_t i = 0; i < context.size(); ++i) {
      if (i < head || i + tail >= context.size())
        out += fmt::format("  {}\n", context[i]);
      else if (i == head)
        out += fmt::format("  ... {} unchanged\n", context.size() - std::min(context.size(), head + tail));
    }
    context.clear();
  }
};

} // namespace

Result<std::string> showPatch(const json& patch) {
  if (!patch.is_object() || !patch.contains("asmevo_patch") || patch["asmevo_patch"] != 1)
    return badInput("this is no asmevo patch of version 1");
  std::string out = fmt::format("target   {}\nK0       {}\nK1       {}\n", textOf(patch, "target"),
                                textOf(patch, "k0_sha256"), textOf(patch, "k1_sha256"));
  for (const json& kernel : listOf(patch, "kernels"))
    out += fmt::format("kernel   {}\n", kernel.is_string() ? kernel.get<std::string>() : kernel.dump());
  for (const json& entry : listOf(patch, "resources")) {
    out += fmt::format("resource {}:", textOf(entry, "kernel"));
    for (const char* field : {"vgprs", "accum_offset", "sgprs", "lds_bytes", "descriptor"})
      if (entry.is_object() && entry.contains(field))
        out += fmt::format(" {} {}", field, textOf(entry, field));
    out += '\n';
  }
  for (const json& entry : listOf(patch, "data"))
    out += fmt::format("data     {}: {} -> {}\n", textOf(entry, "at"), textOf(entry, "original"),
                       textOf(entry, "replacement"));
  if (patch.contains("delta")) {
    std::size_t literal = 0;
    for (const json& op : listOf(patch["delta"], "ops"))
      literal += op.is_object() && op.contains("bytes") ? textOf(op, "bytes").size() / 2 : 0;
    out += fmt::format("delta    {} bytes that the edits alone do not give (layout of the file)\n", literal);
  }
  if (patch.contains("receipt") && !patch["receipt"].empty())
    out += fmt::format("receipt  {}\n", patch["receipt"].dump());
  for (const json& hunk : listOf(patch, "hunks"))
    out += HunkText(hunk).run();
  return out;
}

} // namespace asmevo::verify
