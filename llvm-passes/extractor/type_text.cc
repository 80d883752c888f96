// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/type_text.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecordLayout.h"
#include "clang/AST/Type.h"

#include <algorithm>
#include <fmt/format.h>

namespace rdb::extractor {
namespace {

class Writer {
public:
  explicit Writer(const clang::ASTContext& context) : context_(context) {}

  // `follow`: pointers are shown with what they point to. What is behind one is not followed further.
  void write(clang::QualType type, bool follow) {
    type = type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
    if (const auto* atomic = type->getAs<clang::AtomicType>())
      type = atomic->getValueType().getCanonicalType().getUnqualifiedType();
    if (const auto* basic = type->getAs<clang::BuiltinType>()) return write_basic(*basic, type);
    if (const auto* pointer = type->getAs<clang::PointerType>()) return write_pointer(*pointer, follow);
    if (const auto* enumeration = type->getAs<clang::EnumType>()) return write_enum(*enumeration, type);
    if (const auto* array = context_.getAsConstantArrayType(type)) {
      text_ += fmt::format("a{},", array->getSize().getZExtValue());
      return write_element(array->getElementType(), follow);
    }
    if (const auto* vector = type->getAs<clang::VectorType>()) {
      text_ += fmt::format("a{},", vector->getNumElements());
      return write_element(vector->getElementType(), follow);
    }
    if (const auto* complex = type->getAs<clang::ComplexType>()) {
      text_ += "a2,";
      return write_element(complex->getElementType(), follow);
    }
    if (const auto* record = type->getAsRecordDecl())
      if (record->getDefinition() != nullptr) return write_record(*record->getDefinition(), follow);
    write_name(type);
  }

  std::string take() { return std::to_string(depth_) + text_; }

private:
  void write_name(clang::QualType type) { text_ += fmt::format("?{};", type.getAsString()); }

  uint64_t size_of(clang::QualType type) const {
    return static_cast<uint64_t>(context_.getTypeSizeInChars(type).getQuantity());
  }

  void write_element(clang::QualType type, bool follow) {
    text_ += fmt::format("{},", size_of(type));
    write(type, follow);
  }

  void write_basic(const clang::BuiltinType& basic, clang::QualType type) {
    uint64_t size = basic.isVoidType() || basic.isPlaceholderType() ? 0 : size_of(type);
    if (basic.getKind() == clang::BuiltinType::Bool)
      text_ += 'b';
    else if (basic.getKind() == clang::BuiltinType::Char_S || basic.getKind() == clang::BuiltinType::Char_U)
      text_ += 'c';
    else if (basic.isFloatingPoint() && (size == 4 || size == 8 || size == 16))
      text_ += fmt::format("f{},", size);
    else if (basic.isInteger())
      text_ += fmt::format("{}{},", basic.isSignedInteger() ? 'i' : 'u', size);
    else if (basic.isNullPtrType())
      text_ += "pv";
    else
      write_name(type);
  }

  void write_pointer(const clang::PointerType& pointer, bool follow) {
    clang::QualType target = pointer.getPointeeType().getCanonicalType();
    const auto* basic = target->getAs<clang::BuiltinType>();
    text_ += 'p';
    if (target->isFunctionType()) {
      text_ += 'k';
    } else if (basic && (basic->getKind() == clang::BuiltinType::Char_S ||
                         basic->getKind() == clang::BuiltinType::Char_U)) {
      text_ += 'c';
      note_depth(1);
    } else if (!follow || target->isVoidType() || target->isIncompleteType()) {
      text_ += 'v';
    } else {
      write_behind(target);
    }
  }

  // What a pointer leads to.
  void write_behind(clang::QualType type) {
    ++level_;
    note_depth(0);
    write(type, false);
    --level_;
  }
  void note_depth(unsigned further) { depth_ = std::max(depth_, std::min(level_ + further, 2U)); }

  void write_enum(const clang::EnumType& type, clang::QualType whole) {
    const clang::EnumDecl* enumeration = type.getDecl()->getDefinition();
    if (enumeration == nullptr) return write_name(whole);
    text_ += fmt::format("e{}{},", enumeration->getIntegerType()->isSignedIntegerType() ? 'i' : 'u',
                         size_of(whole));
    for (const clang::EnumConstantDecl* constant : enumeration->enumerators())
      text_ += fmt::format("{}={},", constant->getName().str(), constant->getInitVal().getExtValue());
    text_ += ';';
  }

  void write_record(const clang::RecordDecl& record, bool follow) {
    if (write_library_class(record, follow)) return;
    if (record.isInvalidDecl() || record.isDependentType())
      return write_name(context_.getCanonicalTagType(&record));
    text_ += 's';
    write_fields(record, 0, follow);
    text_ += '}';
  }

  void write_fields(const clang::RecordDecl& record, uint64_t bit, bool follow) {
    const clang::ASTRecordLayout& layout = context_.getASTRecordLayout(&record);
    if (const auto* cxx = llvm::dyn_cast<clang::CXXRecordDecl>(&record))
      for (const clang::CXXBaseSpecifier& base : cxx->bases()) {
        const auto* decl = base.getType()->getAsCXXRecordDecl();
        if (decl == nullptr || base.isVirtual()) continue;
        auto offset = layout.getBaseClassOffset(decl).getQuantity();
        write_fields(*decl->getDefinition(), bit + static_cast<uint64_t>(offset) * 8, follow);
      }
    for (const clang::FieldDecl* field : record.fields()) {
      uint64_t at = bit + layout.getFieldOffset(field->getFieldIndex());
      if (field->isAnonymousStructOrUnion()) {
        write_fields(*field->getType()->getAsRecordDecl()->getDefinition(), at, follow);
        continue;
      }
      if (field->getName().empty()) continue; // padding
      text_ += fmt::format("{};{}", field->getName().str(), at);
      if (field->isBitField()) text_ += fmt::format(":{}", field->getBitWidthValue());
      text_ += ',';
      clang::QualType type = field->getType();
      if (type->isReferenceType()) {
        text_ += "pv";
        continue;
      }
      if (type->isIncompleteType() || (type->isArrayType() && !type->isConstantArrayType()))
        text_ += "a0,1,c"; // a flexible array: how much there is only the program knows
      else
        write(type, false);
    }
  }

  // Where containers that only their own iterators can walk keep their number of elements; 0: none of those.
  static uint64_t count_of(llvm::StringRef name) {
    if (name == "map" || name == "set" || name == "multimap" || name == "multiset") return 40;
    if (name.starts_with("unordered_")) return 24;
    if (name == "list") return 16;
    return 0;
  }

  // The commonest classes of libstdc++ by their layout: what they hold matters, not what they are made of.
  bool write_library_class(const clang::RecordDecl& record, bool follow) {
    const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
    if (special == nullptr || !special->isInStdNamespace()) return false;
    llvm::StringRef name = special->getName();
    auto argument = [&](unsigned i) {
      const clang::TemplateArgument& a = special->getTemplateArgs()[i];
      return a.getKind() == clang::TemplateArgument::Type ? a.getAsType() : clang::QualType();
    };
    clang::QualType held = argument(0);
    if (held.isNull() || held->isIncompleteType()) return false;
    uint64_t size = size_of(context_.getCanonicalTagType(&record));
    if ((name == "basic_string" && held->isCharType() && size == 32) ||
        (name == "basic_string_view" && held->isCharType() && size == 16)) {
      text_ += name == "basic_string" ? 'S' : 'W';
      note_depth(1);
    } else if (name == "vector" && size == 24 && !held->isBooleanType()) {
      text_ += fmt::format("V{},", size_of(held));
      write_behind(held);
    } else if ((name == "unique_ptr" && size == 8) || (name == "shared_ptr" && size == 16)) {
      text_ += 'p';
      if (follow)
        write_behind(held);
      else
        text_ += 'v';
    } else if (name == "optional" && size > size_of(held)) {
      text_ += fmt::format("O{},", size_of(held));
      write(held, false);
    } else if (uint64_t count = count_of(name); count != 0 && count + 8 <= size) {
      text_ += fmt::format("N{},std::{};", count, name.str());
    } else {
      return false;
    }
    return true;
  }

  const clang::ASTContext& context_;
  std::string text_;
  unsigned level_ = 0; // of pointers followed to where we are
  unsigned depth_ = 0; // the most of them
};

} // namespace

std::string type_text(clang::QualType type, const clang::ASTContext& context) {
  Writer writer(context);
  writer.write(type, true);
  return writer.take();
}

} // namespace rdb::extractor
