// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See module.h.
#include "llvm-passes/link/module.h"

#include "llvm-passes/link/object_writer.h"
#include "rdbtool/base/error.h"

#include <fstream>
#include <map>

namespace rdb::link {

namespace {

// Builds the slot object: one data section full of pointers, symbols on it, relocations in it.
class PointerObject {
public:
  PointerObject() : symbols_(sizeof(Elf64_Sym), '\0'), strings_(1, '\0') {}

  uint64_t position() const { return data_.size(); }

  void define(std::string_view name, uint64_t offset, uint64_t size, unsigned char visibility) {
    Elf64_Sym symbol{};
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_other = visibility;
    symbol.st_shndx = kData;
    symbol.st_value = offset;
    symbol.st_size = size;
    add_symbol(name, symbol);
  }

  void pointer_to(const std::string& name) {
    auto [at, fresh] = undefined_.try_emplace(name, 0);
    if (fresh) {
      Elf64_Sym symbol{};
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
      at->second = add_symbol(name, symbol);
    }
    Elf64_Rela relocation{data_.size(), ELF64_R_INFO(at->second, R_X86_64_64), 0};
    relocations_.append(reinterpret_cast<const char*>(&relocation), sizeof relocation);
    null_pointer();
  }

  void null_pointer() { data_.append(8, '\0'); }

  std::string finish() {
    std::vector<OutSection> sections(6);
    sections[kData] = {".data.rel", {}, data_};
    sections[kData].header.sh_type = SHT_PROGBITS;
    sections[kData].header.sh_flags = SHF_ALLOC | SHF_WRITE;
    sections[kData].header.sh_addralign = 8;
    sections[2] = {".rela.data.rel", {}, relocations_};
    sections[2].header.sh_type = SHT_RELA;
    sections[2].header.sh_flags = SHF_INFO_LINK;
    sections[2].header.sh_addralign = 8;
    sections[2].header.sh_entsize = sizeof(Elf64_Rela);
    sections[2].header.sh_link = 3;
    sections[2].header.sh_info = kData;
    sections[3] = {".symtab", {}, symbols_};
    sections[3].header.sh_type = SHT_SYMTAB;
    sections[3].header.sh_addralign = 8;
    sections[3].header.sh_entsize = sizeof(Elf64_Sym);
    sections[3].header.sh_link = 4;
    sections[3].header.sh_info = 1; // all symbols but the null one are global
    sections[4] = {".strtab", {}, strings_};
    sections[4].header.sh_type = SHT_STRTAB;
    sections[4].header.sh_addralign = 1;
    sections[5] = {".note.GNU-stack", {}, {}};
    sections[5].header.sh_type = SHT_PROGBITS;
    sections[5].header.sh_addralign = 1;
    return write_object(std::move(sections));
  }

private:
  static constexpr uint16_t kData = 1;

  uint32_t add_symbol(std::string_view name, Elf64_Sym symbol) {
    symbol.st_name = static_cast<uint32_t>(strings_.size());
    strings_.append(name).push_back('\0');
    symbols_.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    return static_cast<uint32_t>(symbols_.size() / sizeof symbol - 1);
  }

  std::string data_, relocations_, symbols_, strings_;
  std::map<std::string, uint32_t> undefined_;
};

} // namespace

std::string slot_object(const descriptors::Descriptors& descriptors, const std::vector<std::string>& empty) {
  using descriptors::Owner;
  PointerObject object;
  uint64_t functions = object.position();
  for (const descriptors::Region& region : descriptors.regions) {
    if (region.function.empty())
      object.null_pointer();
    else
      object.pointer_to(region.function);
  }
  object.define(kFunctionTable, functions, object.position() - functions, STV_DEFAULT);
  uint64_t slots = object.position();
  for (const descriptors::Symbol& symbol : descriptors.symbols) {
    object.define(symbol.slot, object.position(), 8, STV_HIDDEN);
    if (symbol.owner == Owner::host || symbol.owner == Owner::module)
      object.pointer_to(symbol.name);
    else
      object.null_pointer();
  }
  object.define(kSlotTable, slots, object.position() - slots, STV_DEFAULT);
  for (const std::string& slot : empty) {
    object.define(slot, object.position(), 8, STV_HIDDEN);
    object.null_pointer();
  }
  // What compilers pass to __cxa_atexit to name the module; crtbeginS.o would define it.
  object.define("__dso_handle", object.position(), 8, STV_HIDDEN);
  object.null_pointer();
  return object.finish();
}

void link_module(const Command& program, const std::vector<std::string>& objects,
                 const std::string& support_library, const std::vector<std::string>& runtime,
                 const std::string& folder, const std::string& output) {
  std::string exports = folder + "/module.exports";
  std::ofstream(exports) << "{ global: __rdb_module_*; local: *; };\n";
  std::vector<std::string> command = {program.linker(),
                                      "-shared",
                                      "-m",
                                      "elf_x86_64",
                                      "-z",
                                      "defs",
                                      "-z",
                                      "noexecstack",
                                      "-Bsymbolic",
                                      "--eh-frame-hdr",
                                      "--version-script=" + exports,
                                      "-o",
                                      output};
  command.insert(command.end(), objects.begin(), objects.end());
  if (!support_library.empty()) {
    // Whole: besides the functions that debug code uses it has what the loader looks for.
    command.insert(command.end(), {"--whole-archive", support_library, "--no-whole-archive"});
  }
  for (const std::string& path : program.library_paths())
    command.push_back("-L" + path);
  command.push_back("--as-needed");
  command.insert(command.end(), runtime.begin(), runtime.end());
  for (const char* archive : {"gcc", "c"})
    if (!program.find_library(archive, true).empty()) command.push_back(std::string("-l") + archive);
  std::string log = folder + "/module.log";
  if (int status = run_tool(command, log); status != 0) {
    std::ifstream in(log);
    std::string words((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    user_error("the debug module cannot be linked (status {}):\n{}", status, words);
  }
}

} // namespace rdb::link
