/// Shadow of a byte range: the last write, the reads since, and the synchronisation history of every cell. A cell is a
/// dword until something touches less than all of it, then four bytes. Private to the emulator.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

namespace asmevo::emulator {

struct ShadowCell {
  std::uint32_t write = 0; ///< AccessLog record
  std::uint32_t reads = 0; ///< AccessLog set: reads since the last plain write, and atomics
};

/// Pages are made on first use.
class Shadow {
 public:
  explicit Shadow(std::uint64_t bytes) : chunks((bytes + chunkBytes - 1) / chunkBytes) {}

  struct Page {
    std::array<ShadowCell, 1024> cells;
    /// By dword, all or nothing: 1 + index into `split`, or 0.
    std::unique_ptr<std::array<std::uint32_t, 1024>> splitIndex;
    std::vector<std::array<ShadowCell, 4>> split;
    std::unique_ptr<std::array<std::uint32_t, 1024>> sync; ///< by dword: release history, 0: none
    /// What the last write of each byte stored, where that is known.
    struct Values {
      std::array<std::uint8_t, 4096> byte;
      std::bitset<4096> known;
    };
    std::unique_ptr<Values> values;

    std::array<ShadowCell, 4>* splitOf(std::size_t dword) {
      const std::uint32_t index = splitIndex ? (*splitIndex)[dword] : 0;
      return index == 0 ? nullptr : &split[index - 1];
    }
    std::array<ShadowCell, 4>& makeSplit(std::size_t dword) {
      if (auto* existing = splitOf(dword))
        return *existing;
      if (!splitIndex)
        splitIndex = std::make_unique<std::array<std::uint32_t, 1024>>();
      split.push_back({cells[dword], cells[dword], cells[dword], cells[dword]});
      (*splitIndex)[dword] = static_cast<std::uint32_t>(split.size());
      return split.back();
    }
    std::uint32_t& syncOf(std::size_t dword) {
      if (!sync)
        sync = std::make_unique<std::array<std::uint32_t, 1024>>();
      return (*sync)[dword];
    }
  };
  static constexpr std::uint64_t pageBytes = 4096;

  /// The page with byte `offset`, or null where the offset is beyond the range. The last one is remembered.
  Page* page(std::uint64_t offset) {
    const std::uint64_t number = offset / pageBytes;
    if (number == lastNumber)
      return lastPage;
    const std::uint64_t chunk = offset / chunkBytes;
    if (chunk >= chunks.size())
      return nullptr;
    if (!chunks[chunk])
      chunks[chunk] = std::make_unique<Chunk>();
    std::unique_ptr<Page>& slot = (*chunks[chunk])[number % pagesPerChunk];
    if (!slot) {
      slot = std::make_unique<Page>();
      ++pageCount;
    }
    lastNumber = number;
    return lastPage = slot.get();
  }
  std::uint64_t bytes() const { return pageCount * (sizeof(Page) + 64) + chunks.size() * sizeof(chunks[0]); }

 private:
  static constexpr std::uint64_t pagesPerChunk = 1024, chunkBytes = pagesPerChunk * pageBytes;
  using Chunk = std::array<std::unique_ptr<Page>, pagesPerChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks;
  std::uint64_t lastNumber = ~std::uint64_t{0};
  Page* lastPage = nullptr;
  std::uint64_t pageCount = 0;
};

} // namespace asmevo::emulator
