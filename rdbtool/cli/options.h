// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options and arguments of one command: how they are declared, parsed and shown in the help. CLI11 does
// the work in options.cc, which alone includes it: its headers take longer to compile than most commands.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace rdb::cli {

// One option that was declared. Each function narrows what it may be.
class Option {
public:
  Option(CLI::App& app, CLI::Option* option) : app_(&app), option_(option) {}

  Option& required();
  // Only together with that one.
  Option& needs(const Option& other);
  Option& not_negative(); // CLI11 takes a negative number for a very large one
  Option& not_empty();
  Option& between(uint64_t least, uint64_t most);
  Option& one_of(const std::vector<std::string>& values);
  Option& show_default(); // in the help
  // Not together with any of those that were declared before.
  Option& excludes_all_before();

private:
  CLI::App* app_;
  CLI::Option* option_;
};

// What an option looks like to completion and manual pages.
struct OptionText {
  std::vector<std::string> names; // "-q", "--quiet"; none for an argument without a name
  std::string synopsis;           // as the help shows it
  std::string description;
  bool takes_value = false;
};

class CommandOptions {
public:
  // `command` is the name as typed ("record").
  CommandOptions(const std::string& command, const std::string& summary);
  ~CommandOptions();
  CommandOptions(const CommandOptions&) = delete;
  CommandOptions& operator=(const CommandOptions&) = delete;

  // `names` as in "-p,--process"; a name without dashes is an argument by position. The variable must live
  // until the command has run. An option with a list as its variable may be given several times.
  Option option(const std::string& names, std::string& variable, const std::string& description);
  Option option(const std::string& names, uint64_t& variable, const std::string& description);
  Option option(const std::string& names, double& variable, const std::string& description);
  Option option(const std::string& names, std::vector<std::string>& variable, const std::string& description);
  Option flag(const std::string& names, bool& variable, const std::string& description);
  // A flag that may have a value after '=': "true" without one.
  Option flag(const std::string& names, std::string& variable, const std::string& description);

  // Declarations that several commands share.
  Option trace(std::string& variable);
  Option process(std::string& variable); // which program of a recording
  Option bundles(std::vector<std::string>& variable);
  Option no_bundles(bool& variable);

  // Text after the list of options, such as examples.
  void footer(const std::string& text);
  // A program and its arguments follow: from the first word without a dash on, nothing is rdb's.
  void expect_program();
  bool expects_program() const;
  // Words that are nobody's are kept instead of refused.
  void keep_other_words();

  enum class Parsed : uint8_t { options, help_wanted };
  // Throws UserError.
  Parsed parse(std::vector<std::string> words);
  // After parse():
  bool was_given(const std::string& name) const;
  std::vector<std::string> other_words() const;

  const std::string& command() const { return command_; }
  std::string help() const;
  std::string footer_text() const;
  std::vector<OptionText> texts() const;

private:
  void refuse_empty_values(std::span<const std::string> words) const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
};

} // namespace rdb::cli
