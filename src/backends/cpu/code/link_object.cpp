#include "backends/cpu/code/link_object.h"

#include "backends/cpu/code/kernel_loops.h"
#include "backends/cpu/code/loop_symbols.h"
#include "base/fail.h"

#include <llvm/BinaryFormat/Magic.h>
#include <llvm/ExecutionEngine/JITLink/ELF_x86_64.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/Object/ELFObjectFile.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace lento::cpu {

namespace {

namespace jitlink = llvm::jitlink;
using llvm::orc::ExecutorAddr;

/// What comes of linking one object.
struct Linking {
  std::unique_ptr<CodeMemory> memory;
  ExecutorAddr entry;
  std::string error;
  std::exception_ptr thrown;  // by what LLVM called: no exception goes through it

  llvm::Error keep_exception() {
    thrown = std::current_exception();
    return llvm::createStringError("there is no memory for it");
  }
};

/// The parts of an object lie one behind the other in ordinary memory while they are linked, and are put where they
/// will run when that is done. Kernels have constants and no variables: all of it can be read and run only.
class Memory final : public jitlink::JITLinkMemoryManager {
 public:
  explicit Memory(Linking& linking) : linking_(linking) {}

  void allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph, OnAllocatedFunction allocated) override {
    jitlink::BasicLayout layout(graph);
    std::size_t bytes = 0;
    for (auto& [group, segment] : layout.segments()) {
      bytes = llvm::alignTo(bytes, segment.Alignment) + segment.ContentSize + segment.ZeroFillSize;
    }
    std::unique_ptr<Contents> contents;
    try {
      linking_.memory = std::make_unique<CodeMemory>(bytes);
      contents = std::make_unique<Contents>(linking_, bytes);
    } catch (...) {
      return allocated(linking_.keep_exception());
    }
    std::size_t at = 0;
    for (auto& [group, segment] : layout.segments()) {
      at = llvm::alignTo(at, segment.Alignment);
      segment.WorkingMem = reinterpret_cast<char*>(contents->bytes.data() + at);
      segment.Addr = ExecutorAddr::fromPtr(linking_.memory->data() + at);
      at += segment.ContentSize + segment.ZeroFillSize;
    }
    if (llvm::Error error = layout.apply()) return allocated(std::move(error));
    allocated(std::move(contents));
  }

  void deallocate(std::vector<FinalizedAlloc> all, OnDeallocatedFunction deallocated) override {
    for (FinalizedAlloc& one : all) one.release();
    deallocated(llvm::Error::success());
  }

 private:
  struct Contents final : InFlightAlloc {
    Contents(Linking& of, std::size_t size) : linking(of), bytes(size) {}
    void finalize(OnFinalizedFunction finalized) override {
      try {
        linking.memory->write(bytes);
      } catch (...) {
        return finalized(linking.keep_exception());
      }
      finalized(FinalizedAlloc(ExecutorAddr::fromPtr(linking.memory->data())));
    }
    void abandon(OnAbandonedFunction abandoned) override { abandoned(llvm::Error::success()); }

    Linking& linking;
    std::vector<std::byte> bytes;
  };

  Linking& linking_;
};

class Context final : public jitlink::JITLinkContext {
 public:
  explicit Context(Linking& linking) : JITLinkContext(nullptr), linking_(linking), memory_(linking) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return memory_; }
  void notifyFailed(llvm::Error error) override { linking_.error = llvm::toString(std::move(error)); }
  void lookup(const LookupMap& names, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> found) override {
    jitlink::AsyncLookupResult addresses;
    for (const auto& [name, flags] : names) {
      const void* address = find_symbol(name);
      if (address == nullptr) return found->run(llvm::createStringError("it refers to '" + name.str() + "'"));
      addresses[name] = {ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    found->run(std::move(addresses));
  }
  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (const jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (symbol->hasName() && symbol->getName() == kEntryName) linking_.entry = symbol->getAddress();
    }
    return linking_.entry ? llvm::Error::success() : llvm::createStringError("there is no kernel in it");
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc code) override { code.release(); }
  jitlink::LinkGraphPassFunction getMarkLivePass(const llvm::Triple&) const override {
    return jitlink::markAllSymbolsLive;
  }

 private:
  Linking& linking_;
  Memory memory_;
};

/// JITLink takes it for granted.
void require_object(llvm::MemoryBufferRef buffer) {
  if (llvm::identify_magic(buffer.getBuffer()) == llvm::file_magic::elf_relocatable) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
    if (!file) fail<BackendError>("cpu: object code is damaged: {}", llvm::toString(file.takeError()));
    if (llvm::isa<llvm::object::ELF64LEObjectFile>(**file) && (*file)->getArch() == llvm::Triple::x86_64) return;
  }
  fail<BackendError>("cpu: object code is damaged: this is none for this processor");
}

}  // namespace

LinkedCode link_object(std::span<const std::byte> object) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()),
                                     "kernel");
  require_object(buffer);
  // For this processor: the functions for any would bring all of JITLink into the library.
  auto graph = jitlink::createLinkGraphFromELFObject_x86_64(buffer);
  if (!graph) fail<BackendError>("cpu: object code is damaged: {}", llvm::toString(graph.takeError()));
  Linking linking;
  jitlink::link_ELF_x86_64(std::move(*graph), std::make_unique<Context>(linking));
  if (linking.thrown) std::rethrow_exception(linking.thrown);
  if (!linking.error.empty()) fail<BackendError>("cpu: object code does not load: {}", linking.error);
  return {std::move(linking.memory), linking.entry.toPtr<const void*>()};
}

}  // namespace lento::cpu
