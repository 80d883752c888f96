// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/inlining.h"
#include "codegen-patch/region_code.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

namespace rdb::codegen {
namespace {

// `store_twice` and `store` go into `host`, `add` is left out there, `far` calls `large` and nobody else.
constexpr const char* kProgram = R"(
  @total = global i32 0
  define internal void @store(ptr %at) {
    store volatile i32 1, ptr %at
    ret void
  }
  define internal void @store_twice(ptr %at) {
    call void @store(ptr %at)
    call void @store(ptr %at)
    ret void
  }
  define internal i32 @add(i32 %a, i32 %b) noinline {
    %sum = add i32 %a, %b
    ret i32 %sum
  }
  define void @host(ptr %at) {
    call void @store_twice(ptr %at)
    %unused = call i32 @add(i32 1, i32 2)
    ret void
  }
  define void @large(ptr %at) noinline {
    store volatile i32 2, ptr %at
    ret void
  }
  define void @"\01far"() {
    call void @large(ptr @total)
    call void @near()
    ret void
  }
  define internal void @near() {
    store volatile i32 3, ptr @total
    ret void
  }
)";

class InliningTest : public testing::Test {
protected:
  std::unique_ptr<llvm::Module> parse(const std::string& text = kProgram) {
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context_);
    EXPECT_TRUE(module) << error.getMessage().str();
    return module;
  }

  Inlining optimise(llvm::Module& module) {
    Inlining inlining;
    llvm::PassInstrumentationCallbacks callbacks;
    llvm::PassBuilder builder(nullptr, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
    inlining.attach(builder);
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
    return inlining;
  }

  llvm::LLVMContext context_;
};

using Names = std::set<std::string>;

TEST_F(InliningTest, TellsWhatWentIntoWhat) {
  Inlining inlining = optimise(*parse());
  ASSERT_TRUE(inlining.callers().contains("store"));
  EXPECT_EQ(inlining.callers().at("store"), Names{"store_twice"});
  EXPECT_EQ(inlining.callers().at("store_twice"), Names{"host"});
  EXPECT_EQ(inlining.callers().at("near"), Names{"far"});
  EXPECT_FALSE(inlining.callers().contains("large"));
}

TEST_F(InliningTest, KnowsWhichCallsCanBeLeftOut) {
  Inlining inlining = optimise(*parse());
  EXPECT_TRUE(inlining.may_lack_calls_of("add"));
  EXPECT_FALSE(inlining.may_lack_calls_of("large"));
  EXPECT_FALSE(inlining.may_lack_calls_of("store"));
  EXPECT_FALSE(inlining.may_lack_calls_of("\01far"));
  // Of one that it has never seen it cannot know.
  EXPECT_TRUE(inlining.may_lack_calls_of("other"));
}

TEST_F(InliningTest, KnowsThatCallsOfWhatIsMadeOfAFunctionCanBeLeftOut) {
  Inlining inlining = optimise(*parse(R"(
    define void @write(ptr %at) noinline {
      store volatile i32 1, ptr %at
      ret void
    }
    define i32 @write.specialized.1() noinline {
      ret i32 1
    }
    define i32 @write_not() noinline {
      ret i32 2
    }
  )"));
  EXPECT_TRUE(inlining.may_lack_calls_of("write"));
  EXPECT_TRUE(inlining.may_lack_calls_of("write_not"));
}

TEST_F(InliningTest, IsTheSameEachTimeAndNotOfOtherCode) {
  Inlining first = optimise(*parse());
  EXPECT_TRUE(first == optimise(*parse()));
  auto changed = parse();
  changed->getFunction("store")->addFnAttr(llvm::Attribute::NoInline);
  EXPECT_FALSE(first == optimise(*changed));
}

TEST_F(InliningTest, OnlyCodeAroundRegionsMatters) {
  Inlining inlining = optimise(*parse());
  auto module = parse();
  auto matters = [&](const char* region, const char* name, const Inlining* expected) {
    return RegionCode(*module, {module->getFunction(region)}, expected).has(*module->getFunction(name));
  };
  EXPECT_TRUE(matters("host", "host", &inlining));
  EXPECT_TRUE(matters("host", "store_twice", &inlining));
  EXPECT_TRUE(matters("host", "store", &inlining));
  EXPECT_FALSE(matters("host", "\01far", &inlining));
  EXPECT_FALSE(matters("host", "large", &inlining));
  // Where the region goes to, with all that goes there.
  EXPECT_TRUE(matters("near", "\01far", &inlining));
  EXPECT_TRUE(matters("store", "host", &inlining));
  EXPECT_FALSE(matters("large", "\01far", &inlining));
  EXPECT_TRUE(matters("large", "\01far", nullptr));
}

TEST_F(InliningTest, WhatIsMadeOfAFunctionMattersAsItDoes) {
  Inlining inlining = optimise(*parse());
  auto module = parse();
  RegionCode code(*module, {module->getFunction("host")}, &inlining);
  auto later = parse("define void @store.specialized.1() { ret void }\n"
                     "define void @large.resume() { ret void }\n"
                     "define void @unheard_of() { ret void }");
  EXPECT_TRUE(code.has(*later->getFunction("store.specialized.1")));
  EXPECT_FALSE(code.has(*later->getFunction("large.resume")));
  EXPECT_TRUE(code.has(*later->getFunction("unheard_of")));
}

} // namespace
} // namespace rdb::codegen
