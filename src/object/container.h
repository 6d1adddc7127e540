/// A file that holds device code in any spelling: a code object itself, offload bundles plain or compressed, one or
/// many, a host executable, library, object or archive with `.hip_fatbin` sections. Listing reads tables only; device
/// code is read one object at a time.
#pragma once

#include "object/bundle.h"
#include "object/code_object.h"
#include "object/host_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::object {

enum class ContainerKind { codeObject, bundles, hostElf, archive };

/// Where one bundle lies in the file.
struct BundlePlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0; ///< bytes it takes, without padding; 0 if `problem` is set
  std::uint64_t room = 0; ///< bytes up to whatever follows
  std::optional<CompressedHeader> compressed;
  std::string section;                  ///< of the host file
  std::string member;                   ///< of the archive
  std::optional<std::uint64_t> address; ///< where a linked host program finds it in memory
  bool isCodeObject = false;            ///< no bundle but the code object itself
  bool registered = false;              ///< some __CudaFatBinaryWrapper points to it
  std::optional<Error> problem;         ///< why it cannot be read
};

/// One bundle with its table; of a compressed one this holds all of the uncompressed bytes.
class OpenBundle {
 public:
  const std::vector<BundleEntry>& entries() const { return table.entries; }
  const BundleTable& layout() const { return table; }
  /// Contents of an entry.
  Result<Bytes> read(const BundleEntry& entry) const;
  /// The whole uncompressed bundle.
  Result<Bytes> readAll() const;

 private:
  friend class Container;
  OpenBundle(ByteSource bytes, std::uint64_t offset) : source(std::move(bytes)), base(offset) {}
  ByteSource source;
  std::uint64_t base;
  BundleTable table;
};

class Container {
 public:
  static Result<Container> open(const std::string& path);
  /// Errors (badInput) if the file is of no known form or holds no device code.
  static Result<Container> read(ByteSource source);

  ContainerKind kind() const { return form; }
  const ByteSource& source() const { return file; }
  /// In the order in which the program registers them (that of the wrappers), unregistered ones last; without wrappers
  /// in file order. A code object counts as one bundle of one entry.
  const std::vector<BundlePlace>& bundles() const { return places; }
  Result<OpenBundle> openBundle(std::size_t index) const;
  /// The host program, if the file is one.
  const std::optional<HostFile>& host() const { return hostFile; }
  const std::vector<std::string>& remarks() const { return notes; }

 private:
  friend class ContainerReader;
  explicit Container(ByteSource source) : file(std::move(source)) {}
  ByteSource file;
  ContainerKind form = ContainerKind::codeObject;
  std::vector<BundlePlace> places;
  std::optional<HostFile> hostFile;
  std::vector<std::string> notes;
};

/// Which device object of a container is meant.
struct ObjectSelection {
  std::optional<std::size_t> bundle;
  std::string target; ///< a target id; "" any

  bool any() const { return !bundle && target.empty(); }
};

/// A device object of a container, by bundle and entry index.
struct DeviceObject {
  std::size_t bundle = 0;
  std::size_t entry = 0;
  BundleEntry info;
};

/// All device entries that are not empty and that the selection allows. With a target: among the entries of a bundle
/// that run on it, one spelled exactly like it wins, else those that agree with most of its features, else (processor
/// not there) a generic one. Errors: a damaged bundle, a bundle index or target that is not there.
Result<std::vector<DeviceObject>> selectObjects(const Container& container, const ObjectSelection& selection);

/// A device object's bytes and what to call it in messages. `chooseObject` is for commands that work on one: a
/// container that holds several which fit is a usage error that lists them and says how to choose.
struct ChosenObject {
  Bytes bytes;
  std::string name;
};
Result<ChosenObject> readObject(const Container& container, const DeviceObject& object);
Result<ChosenObject> chooseObject(const Container& container, const ObjectSelection& selection);

/// `path` of a container or code object, with or without "#BUNDLE", "#TARGET" or "#BUNDLE:TARGET" behind it
/// ("lib.so#3:gfx90a:xnack+"). A file of exactly that name goes first.
struct ObjectPath {
  std::string file;
  ObjectSelection selection;
};
ObjectPath parseObjectPath(const std::string& path);

} // namespace asmevo::object
