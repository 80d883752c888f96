// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/driver/object_check.h"

#include "rdbtool/base/error.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <map>

namespace rdb::driver {

namespace {

using File = llvm::object::ELFFile<llvm::object::ELF64LE>;

template <class T>
T must(llvm::Expected<T> value) {
  if (!value) bug("an object that was just written cannot be read: {}", llvm::toString(value.takeError()));
  return std::move(*value);
}

} // namespace

ObjectFile::ObjectFile(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) user_error("{}: {}", path, buffer.getError().message());
  bytes_ = (*buffer)->getBuffer().str();
  File file = must(File::create(bytes_));
  auto sections = must(file.sections());
  contents_.resize(sections.size());
  relocations_.resize(sections.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < sections.size(); ++i) {
    names.push_back(must(file.getSectionName(sections[i])).str());
    if (sections[i].sh_type == llvm::ELF::SHT_NOBITS || sections[i].sh_type == llvm::ELF::SHT_NULL) continue;
    auto content = must(file.getSectionContents(sections[i]));
    contents_[i].assign(reinterpret_cast<const char*>(content.data()), content.size());
  }
  for (const auto& section : sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto strings = must(file.getStringTableForSymtab(section));
    for (const auto& symbol : must(file.symbols(&section))) {
      ObjectSymbol& entry = symbols_.emplace_back();
      entry.name = must(symbol.getName(strings)).str();
      if (symbol.getType() == llvm::ELF::STT_SECTION && symbol.st_shndx < names.size())
        entry.name = "section " + names[symbol.st_shndx];
      entry.is_function = symbol.getType() == llvm::ELF::STT_FUNC;
      entry.is_local = symbol.getBinding() == llvm::ELF::STB_LOCAL;
      entry.is_tls = symbol.getType() == llvm::ELF::STT_TLS;
      entry.place = {symbol.st_shndx < llvm::ELF::SHN_LORESERVE ? symbol.st_shndx : 0u, symbol.st_value};
      entry.size = symbol.st_size;
    }
  }
  for (const auto& section : sections) {
    if (section.sh_type != llvm::ELF::SHT_RELA) continue;
    for (const auto& relocation : must(file.relas(section))) {
      const ObjectSymbol& target = symbols_[relocation.getSymbol(false)];
      // Names of local data (.L.str.3) are the compiler's own and depend on what else it named.
      bool by_place = target.is_local && !target.is_function && target.place.section != 0;
      std::string name =
          by_place ? fmt::format("{}+{}", names[target.place.section], target.place.offset) : target.name;
      relocations_[section.sh_info].push_back(
          {relocation.r_offset, fmt::format("{} {} {}", relocation.getType(false), name,
                                            static_cast<int64_t>(relocation.r_addend))});
    }
  }
  for (size_t i = 0; i < symbols_.size(); ++i)
    by_name_[symbols_[i].name].push_back(i);
  for (auto& list : relocations_)
    std::ranges::sort(list, {},
                      [](const Relocation& r) { return std::pair(r.offset, std::string_view(r.text)); });
}

std::vector<const ObjectSymbol*> ObjectFile::named(const std::string& name) const {
  std::vector<const ObjectSymbol*> result;
  if (auto found = by_name_.find(name); found != by_name_.end())
    for (size_t i : found->second)
      result.push_back(&symbols_[i]);
  return result;
}

const ObjectSymbol* ObjectFile::find(const std::string& name, bool function) const {
  for (const ObjectSymbol* symbol : named(name))
    if (symbol->place.section != 0 && symbol->is_function == function) return symbol;
  return nullptr;
}

std::string ObjectFile::function_image(const ObjectSymbol& function) const {
  uint64_t begin = function.place.offset;
  uint64_t end = begin + function.size;
  std::string image = contents_[function.place.section].substr(begin, function.size);
  const auto& list = relocations_[function.place.section];
  for (auto next = std::ranges::lower_bound(list, begin, {}, &Relocation::offset);
       next != list.end() && next->offset < end; ++next)
    image += fmt::format("\n{} {}", next->offset - begin, next->text);
  return image;
}

ObjectCheck::ObjectCheck(const ObjectFile& program, const ObjectFile& descriptor) : descriptor_(descriptor) {
  // Statics may share a name: then they come in the same order in both.
  std::map<std::string, std::vector<const ObjectSymbol*>> by_name;
  for (const ObjectSymbol& symbol : program.symbols())
    if (symbol.is_function && symbol.place.section != 0) by_name[symbol.name].push_back(&symbol);
  std::map<std::string, size_t> used;
  for (const ObjectSymbol& symbol : descriptor.symbols()) {
    if (!symbol.is_function || symbol.place.section == 0) continue;
    const auto& candidates = by_name[symbol.name];
    size_t index = used[symbol.name]++;
    if (index >= candidates.size() ||
        program.function_image(*candidates[index]) != descriptor.function_image(symbol)) {
      different_.insert(symbol.name);
      continue;
    }
    same_.push_back({&symbol, candidates[index]});
  }
  std::ranges::sort(same_, {},
                    [](const Pair& pair) { return std::pair(pair.function->place, pair.function); });
}

std::optional<ObjectPlace> ObjectCheck::program_place(const std::string& label) const {
  std::vector<const ObjectSymbol*> found = descriptor_.named(label);
  if (found.empty()) return std::nullopt;
  ObjectPlace at = found.back()->place;
  // Functions do not overlap, but one may have several names and others may have no code.
  auto next = std::ranges::upper_bound(same_, at, {}, [](const Pair& pair) { return pair.function->place; });
  while (next != same_.begin()) {
    --next;
    ObjectPlace begin = next->function->place;
    if (begin.section != at.section) return std::nullopt;
    if (at.offset < begin.offset + next->function->size)
      return ObjectPlace{next->original->place.section,
                         next->original->place.offset + (at.offset - begin.offset)};
    if (next->function->size != 0) return std::nullopt;
  }
  return std::nullopt;
}

} // namespace rdb::driver
