#include "isa/llvm_target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

namespace asmevo::isa {

const llvm::Target* amdgcnTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(tripleName), error);
}

std::string featureString(const object::Target& target) {
  std::string features;
  const auto add = [&](object::Feature setting, const char* name) {
    if (setting == object::Feature::on || setting == object::Feature::off) {
      features += features.empty() ? "" : ",";
      features += setting == object::Feature::on ? '+' : '-';
      features += name;
    }
  };
  add(target.xnack, "xnack");
  add(target.sramecc, "sramecc");
  return features;
}

} // namespace asmevo::isa
