// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/result_bits.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Basic/TargetInfo.h"

#include <algorithm>

namespace rdb::extractor {

namespace {

// What is larger is returned in memory.
constexpr int64_t kInRegisters = 32;

class Marker {
public:
  Marker(const clang::ASTContext& context, std::vector<bool>& bits) : context_(context), bits_(bits) {}

  void mark(clang::QualType type, uint64_t offset) {
    type = type.getCanonicalType();
    if (const auto* array = context_.getAsConstantArrayType(type)) {
      auto step = static_cast<uint64_t>(context_.getTypeSizeInChars(array->getElementType()).getQuantity());
      for (uint64_t i = 0; i < array->getZExtSize(); ++i)
        mark(array->getElementType(), offset + i * step);
    } else if (const auto* record = type->getAsRecordDecl()) {
      mark_record(*record, offset);
    } else if (const auto* complex = type->getAs<clang::ComplexType>()) {
      mark(complex->getElementType(), offset);
      mark(complex->getElementType(), offset + size_of(type) / 2);
    } else if (type->isSpecificBuiltinType(clang::BuiltinType::LongDouble) && size_of(type) == 16) {
      mark_bits(8 * offset, 80);
    } else if (!type->isNullPtrType()) {
      mark_bits(8 * offset, 8 * size_of(type));
    }
  }

private:
  uint64_t size_of(clang::QualType type) const {
    return static_cast<uint64_t>(context_.getTypeSizeInChars(type).getQuantity());
  }

  void mark_record(const clang::RecordDecl& record, uint64_t offset) {
    const clang::ASTRecordLayout& layout = context_.getASTRecordLayout(&record);
    if (const auto* object = llvm::dyn_cast<clang::CXXRecordDecl>(&record)) {
      if (object->isDynamicClass()) mark_bits(8 * offset, 64);
      for (const clang::CXXBaseSpecifier& base : object->bases())
        if (const auto* inner = base.getType()->getAsCXXRecordDecl(); inner && !base.isVirtual())
          mark_record(*inner, offset + static_cast<uint64_t>(layout.getBaseClassOffset(inner).getQuantity()));
    }
    for (const clang::FieldDecl* field : record.fields()) {
      uint64_t bit = layout.getFieldOffset(field->getFieldIndex());
      if (!field->isBitField())
        mark(field->getType(), offset + bit / 8);
      else if (unsigned width = field->getBitWidthValue(); width > 0 && !field->isUnnamedBitField())
        mark_bits(8 * offset + bit, width);
    }
  }

  void mark_bits(uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < std::min<uint64_t>(first + count, bits_.size()); ++i)
      bits_[i] = true;
  }

  const clang::ASTContext& context_;
  std::vector<bool>& bits_;
};

} // namespace

std::vector<bool> result_bits(const clang::ASTContext& context, const clang::FunctionDecl& function) {
  clang::QualType type = function.getReturnType();
  if (type->isDependentType() || type->isUndeducedType() || type->isIncompleteType() || !type->isRecordType())
    return {};
  int64_t size = context.getTypeSizeInChars(type).getQuantity();
  if (size > kInRegisters) return {};
  std::vector<bool> bits(static_cast<size_t>(8 * size));
  Marker(context, bits).mark(type, 0);
  return bits;
}

} // namespace rdb::extractor
