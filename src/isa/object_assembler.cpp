#include "isa/object_assembler.h"

#include "isa/llvm_target.h"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>

namespace asmevo::isa {

namespace {

void keepFirst(const llvm::SMDiagnostic& diagnostic, void* first) {
  auto& message = *static_cast<std::string*>(first);
  if (diagnostic.getKind() == llvm::SourceMgr::DK_Error && message.empty())
    message = fmt::format("line {}: {}", diagnostic.getLineNo(), diagnostic.getMessage().str());
}

} // namespace

Result<Bytes> assembleObject(const object::Target& target, const std::string& text) {
  const llvm::Target* llvmTarget = amdgcnTarget();
  if (!llvmTarget)
    return internalError("this LLVM has no AMDGPU target");
  const llvm::Triple triple(tripleName);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(llvmTarget->createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> asmInfo(llvmTarget->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instrs(llvmTarget->createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvmTarget->createMCSubtargetInfo(triple, target.processor, featureString(target)));
  if (!registers || !asmInfo || !instrs || !subtarget)
    return internalError("LLVM's AMDGPU MC layer is incomplete");

  std::string message;
  llvm::SourceMgr sources;
  sources.setDiagHandler(keepFirst, &message);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "assembly"), llvm::SMLoc());
  llvm::MCContext context(triple, asmInfo.get(), registers.get(), subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(llvmTarget->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(llvmTarget->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(llvmTarget->createMCCodeEmitter(*instrs, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(llvmTarget->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *asmInfo));
  const std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      llvmTarget->createMCAsmParser(*subtarget, *parser, *instrs, options));
  if (!targetParser)
    return internalError("LLVM's AMDGPU MC layer has no assembly parser");
  parser->setTargetParser(*targetParser);
  if (parser->Run(/*NoInitialTextSection=*/false) || !message.empty())
    return badInput("{}", message.empty() ? "not accepted by LLVM's assembler" : message);
  return Bytes(bytes.begin(), bytes.end());
}

} // namespace asmevo::isa
