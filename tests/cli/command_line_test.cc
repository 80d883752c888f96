// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command lines, on a table of commands made for it: which words are whose, which trouble gives which status
// and line.
#include "rdbtool/cli/command_line.h"

#include "rdbtool/base/error.h"
#include "rdbtool/cli/guest_command.h"

#include <gtest/gtest.h>
#include <memory>

namespace rdb::cli {
namespace {

// What `start` and `show` were given, as one line.
std::string given;

Action setup_start(CommandOptions& command) {
  auto depth = std::make_shared<uint64_t>(0);
  auto folders = std::make_shared<std::vector<std::string>>();
  command.option("--depth", *depth, "How deep");
  command.option("-m", *folders, "A folder");
  take_guest_command(command);
  return [&command, depth, folders] {
    given = fmt::format("depth={} m={} {}", *depth, fmt::join(*folders, ","),
                        fmt::join(guest_command(command).argv, "|"));
    return 7;
  };
}

Action setup_show(CommandOptions& command) {
  auto what = std::make_shared<std::string>();
  command.option("WHAT", *what, "What to show");
  return [what] {
    given = *what;
    return 0;
  };
}

Action setup_pair(CommandOptions& command) {
  auto one = std::make_shared<std::string>();
  command.option("ONE", *one, "The first").required();
  return [one] { return 0; };
}

Action setup_limit(CommandOptions&) {
  return []() -> int { limit("system call {}", "vmsplice"); };
}
Action setup_bug(CommandOptions&) {
  return []() -> int { bug("lost\ncount"); };
}
Action setup_refused(CommandOptions&) {
  return []() -> int { throw std::bad_alloc(); };
}

constexpr Command kCommands[] = {
    {"start", "Start a program", setup_start}, {"show", "Show something", setup_show},
    {"pair", "Compare two", setup_pair},       {"limit", "Meet a limit", setup_limit},
    {"bug", "Meet a bug", setup_bug},          {"refused", "Be refused", setup_refused},
};

struct Outcome {
  int status;
  std::string out, err, given;
};

Outcome run(std::vector<std::string> args) {
  given.clear();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = run_command_line(kCommands, args);
  std::string err = testing::internal::GetCapturedStderr();
  return {status, testing::internal::GetCapturedStdout(), err, given};
}

TEST(GuestCommand, OptionsAfterTheProgramAreTheGuests) {
  EXPECT_EQ(run({"start", "/bin/ls", "--help", "--depth", "3"}).given, "depth=0 m= /bin/ls|--help|--depth|3");
  EXPECT_EQ(run({"start", "--depth", "3", "/bin/ls", "-h"}).given, "depth=3 m= /bin/ls|-h");
}

TEST(GuestCommand, TwoDashesEndRdbsOptionsAndOnlyTheFirstAreTaken) {
  EXPECT_EQ(run({"start", "--depth=3", "--", "/bin/ls", "--depth"}).given, "depth=3 m= /bin/ls|--depth");
  EXPECT_EQ(run({"start", "--", "/bin/ls", "--", "x"}).given, "depth=0 m= /bin/ls|--|x");
  EXPECT_EQ(run({"start", "/bin/ls", "--", "x"}).given, "depth=0 m= /bin/ls|--|x");
}

TEST(GuestCommand, ARepeatedOptionLeavesTheProgramAlone) {
  EXPECT_EQ(run({"start", "-m", "a", "-m", "b", "/bin/ls", "c"}).given, "depth=0 m=a,b /bin/ls|c");
}

TEST(GuestCommand, AProgramNamedLikeACommandIsAProgram) {
  Outcome outcome = run({"start", "/bin/ls", "show"});
  EXPECT_EQ(outcome.given, "depth=0 m= /bin/ls|show");
  EXPECT_EQ(outcome.status, 7);
}

TEST(GuestCommand, WordsReachTheGuestAsTheyAre) {
  EXPECT_EQ(run({"start", "/bin/ls", "", "a b", "[x,y]", "-5", "{}"}).given,
            "depth=0 m= /bin/ls||a b|[x,y]|-5|{}");
}

TEST(GuestCommand, AnUnknownOptionBeforeTheProgramIsNamed) {
  Outcome outcome = run({"start", "--bogus", "/bin/ls"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.given, "");
  EXPECT_EQ(outcome.err,
            "rdb: start: unknown option '--bogus'; 'rdb help start' lists its options, those of PROGRAM "
            "stand after it\n");
}

TEST(GuestCommand, AMissingProgramIsSaid) {
  Outcome outcome = run({"start", "--depth", "3"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err, "rdb: start: no program given; write rdb start [options] PROGRAM [ARGS...]\n");
}

TEST(GuestCommand, AProgramThatCannotRunIsNamedWithTheReason) {
  EXPECT_EQ(run({"start", "/no/such/file"}).err,
            "rdb: cannot run /no/such/file: No such file or directory\n");
  EXPECT_EQ(run({"start", "/tmp/"}).err, "rdb: cannot run /tmp/: Is a directory\n");
  EXPECT_EQ(run({"start", "/etc/passwd"}).err, "rdb: cannot run /etc/passwd: Permission denied\n");
  EXPECT_EQ(run({"start", "no-such-program"}).err, "rdb: there is no program 'no-such-program' in PATH\n");
  EXPECT_EQ(run({"start", "/etc/passwd"}).status, kExitUsage);
}

TEST(GuestCommand, AProgramIsFoundInPath) {
  EXPECT_TRUE(find_program("sh").ends_with("/sh"));
  EXPECT_EQ(run({"start", "sh", "-c", "x"}).given, "depth=0 m= sh|-c|x");
}

TEST(CommandLine, TroubleBecomesOneLineAndAStatus) {
  Outcome limited = run({"limit"});
  EXPECT_EQ(limited.status, kExitFailure);
  EXPECT_EQ(limited.err, "rdb: not supported: system call vmsplice\n");
  Outcome wrong = run({"bug"});
  EXPECT_EQ(wrong.status, kExitFailure);
  EXPECT_EQ(wrong.err, "rdb: internal error, please report it: lost\\ncount\n");
  Outcome refused = run({"refused"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_EQ(refused.err, "rdb: std::bad_alloc\n");
}

TEST(CommandLine, WrongUseNamesWhatIsWrongAndWhatToDo) {
  auto complaint = [](std::vector<std::string> args) {
    Outcome outcome = run(std::move(args));
    EXPECT_EQ(outcome.status, kExitUsage) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(complaint({}), "rdb: no command given; 'rdb help' lists them\n");
  EXPECT_EQ(complaint({"xyzzy"}), "rdb: there is no command 'xyzzy'; 'rdb help' lists them\n");
  EXPECT_EQ(complaint({"strat"}),
            "rdb: there is no command 'strat', did you mean 'start'? 'rdb help' lists them\n");
  EXPECT_EQ(complaint({"--frob"}), "rdb: unknown option '--frob'; 'rdb help' says what there is\n");
  EXPECT_EQ(complaint({"show", "--frob"}),
            "rdb: show: unknown option '--frob'; 'rdb help show' says what it takes\n");
  EXPECT_EQ(complaint({"show", "a", "b"}),
            "rdb: show: unexpected argument 'b'; 'rdb help show' says what it takes\n");
  EXPECT_EQ(complaint({"start", "--depth"}),
            "rdb: start: --depth needs a value; 'rdb help start' says what it takes\n");
  EXPECT_EQ(complaint({"start", "--depth", "deep", "/bin/ls"}),
            "rdb: start: --depth deep: not a number it can take; 'rdb help start' says what it takes\n");
  EXPECT_EQ(complaint({"start", "--depth", "deep", "/bin/ls", "--all"}),
            "rdb: start: --depth deep: not a number it can take; 'rdb help start' says what it takes\n");
  EXPECT_EQ(complaint({"pair", "--frob"}),
            "rdb: pair: unknown option '--frob'; 'rdb help pair' says what it takes\n");
  EXPECT_EQ(complaint({"pair"}), "rdb: pair: ONE is required; 'rdb help pair' says what it takes\n");
  EXPECT_EQ(complaint({"help", "xyzzy"}), "rdb: there is no command 'xyzzy'; 'rdb help' lists them\n");
}

TEST(CommandLine, HelpListsEveryCommandAndDescribesEach) {
  Outcome all = run({"help"});
  EXPECT_EQ(all.status, 0);
  for (const Command& command : kCommands) {
    EXPECT_NE(all.out.find(fmt::format("  {:<12} {}\n", command.name, command.summary)), std::string::npos)
        << all.out;
    Outcome one = run({"help", command.name});
    EXPECT_EQ(one.status, 0);
    EXPECT_NE(one.out.find(fmt::format("Usage: rdb {}", command.name)), std::string::npos) << one.out;
    EXPECT_EQ(one.out, run({command.name, "--help"}).out);
  }
  EXPECT_EQ(all.out, run({"--help"}).out);
  Outcome start = run({"help", "start"});
  EXPECT_NE(start.out.find("Usage: rdb start [options] [--] PROGRAM [ARGS...]\n"), std::string::npos)
      << start.out;
}

} // namespace
} // namespace rdb::cli
