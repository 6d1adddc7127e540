#include "program/assembly_lines.h"

#include <algorithm>
#include <charconv>

namespace asmevo::program {

namespace {

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$' || c == '@';
}

/// Length of the name at the start, quotes included; 0 if there is none.
std::size_t nameLength(std::string_view text) {
  if (text.empty())
    return 0;
  if (text.front() == '"') {
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        return i + 1;
    }
    return 0;
  }
  std::size_t length = 0;
  while (length < text.size() && isNameCharacter(text[length]))
    ++length;
  return length;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text(text) {}

  AssemblyLines run() {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      lines.raw.push_back(line);
      if (inMetadata && trimmed(line) != ".end_amdgpu_metadata")
        lines.statements.push_back({Statement::Kind::metadata, line, lines.raw.size() - 1, 0, {}});
      else
        lexLine(line);
    }
    return std::move(lines);
  }

 private:
  std::string_view text;
  AssemblyLines lines;
  bool inComment = false, inMetadata = false;

  void lexLine(std::string_view line) {
    const std::size_t number = lines.raw.size() - 1;
    std::size_t begin = 0;
    if (inComment) {
      const std::size_t end = line.find("*/");
      if (end == std::string_view::npos)
        return;
      inComment = false;
      begin = end + 2;
    }
    const std::size_t first = lines.statements.size();
    std::string_view comment;
    std::size_t at = begin;
    bool quoted = false;
    const auto flush = [&](std::size_t end) { addStatements(line, begin, end, number); };
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (quoted) {
        if (c == '\\')
          ++at;
        else if (c == '"')
          quoted = false;
        continue;
      }
      if (c == '"') {
        quoted = true;
      } else if (c == ';' || line.substr(at).starts_with("//") ||
                 (c == '#' && trimmed(line.substr(begin, at - begin)).empty())) {
        comment = line.substr(at + (c == '/' ? 2 : 1));
        break;
      } else if (line.substr(at).starts_with("/*")) {
        flush(at);
        const std::size_t end = line.find("*/", at + 2);
        if (end == std::string_view::npos) {
          inComment = true;
          return;
        }
        begin = end + 2;
        at = begin - 1;
      }
    }
    flush(std::min(at, line.size()));
    for (std::size_t i = first; i < lines.statements.size(); ++i)
      lines.statements[i].comment = comment;
    if (first == lines.statements.size() && !comment.empty())
      lines.comments.emplace_back(number, comment);
  }

  void addStatements(std::string_view line, std::size_t begin, std::size_t end, std::size_t number) {
    while (begin < end) {
      while (begin < end && isBlank(line[begin]))
        ++begin;
      if (begin == end)
        return;
      const std::string_view rest = line.substr(begin, end - begin);
      const std::size_t name = nameLength(rest);
      std::size_t colon = name;
      while (colon < rest.size() && isBlank(rest[colon]))
        ++colon;
      if (name > 0 && colon < rest.size() && rest[colon] == ':') {
        lines.statements.push_back({Statement::Kind::label, rest.substr(0, name), number, begin, {}});
        begin += colon + 1;
        continue;
      }
      const std::string_view statement = trimmed(rest);
      const bool isDirective = statement.front() == '.';
      lines.statements.push_back(
          {isDirective ? Statement::Kind::directive : Statement::Kind::instruction, statement, number, begin, {}});
      if (statement == ".amdgpu_metadata")
        inMetadata = true;
      else if (statement == ".end_amdgpu_metadata")
        inMetadata = false;
      return;
    }
  }
};

} // namespace

AssemblyLines lexAssembly(std::string_view text) {
  return Lexer(text).run();
}

std::string canonicalStatement(std::string_view text) {
  text = trimmed(text);
  const std::string_view word = firstWord(text);
  std::string out(word);
  std::string_view rest = text.substr(word.size());
  if (!trimmed(rest).empty())
    out += ' ';
  bool quoted = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (quoted && rest[i] == '\\' && i + 1 < rest.size()) {
      out += rest.substr(i++, 2);
      continue;
    }
    if (rest[i] == '"')
      quoted = !quoted;
    if (quoted || !isBlank(rest[i]))
      out += rest[i];
  }
  return out;
}

std::string_view firstWord(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && !isBlank(text[end]))
    ++end;
  return text.substr(0, end);
}

std::string_view afterFirstWord(std::string_view text) {
  return trimmed(text.substr(firstWord(text).size()));
}

std::vector<std::string_view> commaSeparated(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty())
    return parts;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    quoted = c == '"';
    if (c == '(' || c == '[')
      ++depth;
    else if (c == ')' || c == ']')
      --depth;
    else if (c == ',' && depth <= 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

std::string unquoted(std::string_view name) {
  if (name.size() < 2 || name.front() != '"' || name.back() != '"')
    return std::string(name);
  std::string out;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '\\' && i + 2 < name.size())
      ++i;
    out += name[i];
  }
  return out;
}

std::optional<std::uint64_t> integerConstant(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+'))
    text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return negative ? ~value + 1 : value;
}

std::optional<std::uint64_t> commentAddress(std::string_view comment) {
  comment = trimmed(comment);
  constexpr std::size_t fewestDigits = 8, mostDigits = 16;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(comment.data(), comment.data() + comment.size(), value, 16);
  const auto digits = static_cast<std::size_t>(parsed.ptr - comment.data());
  if (parsed.ec != std::errc() || digits < fewestDigits || digits > mostDigits || digits == comment.size() ||
      comment[digits] != ':')
    return std::nullopt;
  return value;
}

} // namespace asmevo::program
