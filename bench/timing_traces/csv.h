/// Tables of the measured data: csv with a header line, gzipped or plain.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::bench {

class Table {
 public:
  /// Errors: unreadable file, a row whose length is not the header's.
  static Result<Table> read(const std::string& path);
  std::size_t rows() const { return cells.size(); }
  /// Index of a column; Error when the table lacks it.
  Result<std::size_t> column(const std::string& name) const;
  const std::string& text(std::size_t row, std::size_t column) const { return cells[row][column]; }
  /// 0 for an empty cell; base by prefix.
  std::int64_t number(std::size_t row, std::size_t column) const;

 private:
  std::string name;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> cells;
};

} // namespace asmevo::bench
