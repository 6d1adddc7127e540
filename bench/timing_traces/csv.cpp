#include "csv.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace asmevo::bench {
namespace {

constexpr std::size_t textLimit = std::size_t{256} << 20;

Result<std::string> readText(const std::string& path) {
  // gzread passes plain files through.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file)
    return badInput("cannot open {}", path);
  std::string text;
  std::vector<char> buffer(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > textLimit)
      return badInput("{} is larger than {} bytes", path, textLimit);
  }
  if (got < 0)
    return badInput("cannot read {}", path);
  return text;
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

} // namespace

Result<Table> Table::read(const std::string& path) {
  ASMEVO_TRY(const std::string text, readText(path));
  Table table;
  table.name = path;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.empty())
      continue;
    if (table.header.empty()) {
      table.header = split(line);
      continue;
    }
    table.cells.push_back(split(line));
    if (table.cells.back().size() != table.header.size())
      return badInput("{}: row {} has {} cells, the header {}", path, table.cells.size() + 1, table.cells.back().size(),
                      table.header.size());
  }
  return table;
}

Result<std::size_t> Table::column(const std::string& wanted) const {
  const auto at = std::find(header.begin(), header.end(), wanted);
  if (at == header.end())
    return badInput("{} has no column '{}'", name, wanted);
  return static_cast<std::size_t>(at - header.begin());
}

std::int64_t Table::number(std::size_t row, std::size_t column) const {
  return std::strtoll(cells[row][column].c_str(), nullptr, 0);
}

} // namespace asmevo::bench
