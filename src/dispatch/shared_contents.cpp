#include "dispatch/shared_contents.h"

#include "dispatch/dispatch.h"
#include "support/round_up.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace asmevo::dispatch {

Result<std::shared_ptr<const SharedContents>> SharedContents::of(std::span<const std::uint8_t> bytes) {
  const int file = memfd_create("asmevo-buffer", MFD_CLOEXEC);
  if (file < 0)
    return internalError("memfd_create: {}", std::strerror(errno));
  const std::uint64_t mapped = roundUp(static_cast<std::uint64_t>(bytes.size()), hostPageBytes);
  std::shared_ptr<const SharedContents> result(new SharedContents(file, mapped));
  if (ftruncate(file, static_cast<off_t>(mapped)) != 0)
    return internalError("no room for {} bytes of a buffer: {}", mapped, std::strerror(errno));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t now = pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (now <= 0)
      return internalError("no room for {} bytes of a buffer: {}", mapped, std::strerror(errno));
    done += static_cast<std::size_t>(now);
  }
  return result;
}

SharedContents::~SharedContents() {
  close(file);
}

bool SharedContents::mapOver(std::uint8_t* at) const {
  return mmap(at, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
}

void shareContents(Dispatch& dispatch) {
  for (Case& launch : dispatch.cases)
    for (Buffer& buffer : launch.buffers)
      if (!buffer.shared && buffer.sparseBytes == 0 && buffer.initial.size() >= largeBufferBytes)
        if (auto contents = SharedContents::of(buffer.initial))
          buffer.shared = *std::move(contents);
}

} // namespace asmevo::dispatch
