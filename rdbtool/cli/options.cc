// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/options.h"

#include "rdbtool/base/error.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace rdb::cli {
namespace {

// CLI11 writes the list of options; the usage line is ours, since CLI11 cannot show that a program follows.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() {
    label("OPTIONS", "options");
    label("Positionals", "Arguments");
    column_width(28);
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (!app->get_prefix_command()) return CLI::Formatter::make_usage(app, std::move(name));
    return fmt::format("Usage: {} [options] [--] PROGRAM [ARGS...]\n", name);
  }

  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : "\n" + app->get_footer() + "\n";
  }
};

// CLI11's words for a missing value are "--depth: 1 required INT missing".
std::string describe_missing_value(const std::string& message) {
  size_t colon = message.find(": 1 required ");
  if (colon == std::string::npos) return message;
  return message.substr(0, colon) + " needs a value";
}

// And for a word in place of a number: "Could not convert: --to = soon".
std::string describe_no_number(const std::string& message) {
  size_t colon = message.find(": ");
  size_t equals = message.find(" = ");
  if (colon == std::string::npos || equals == std::string::npos || equals < colon) return message;
  return fmt::format("{} {}: not a number it can take", message.substr(colon + 2, equals - colon - 2),
                     message.substr(equals + 3));
}

std::string describe(const CLI::ParseError& error, const CLI::App& app) {
  // A mistyped option often shows first as something else that is missing.
  for (const std::string& word : app.remaining()) {
    bool option = word.size() > 1 && word.starts_with('-') && word != "--";
    if (option) return fmt::format("unknown option '{}'", word);
    if (app.get_prefix_command()) break; // from here on the words are the program's
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !app.remaining().empty())
    return fmt::format("unexpected argument '{}'", app.remaining().front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return describe_missing_value(error.what());
  if (dynamic_cast<const CLI::ConversionError*>(&error)) return describe_no_number(error.what());
  return error.what();
}

template <class T>
CLI::Option* declare(CLI::App& app, const std::string& names, T& variable, const std::string& description) {
  return app.add_option(names, variable, description);
}

} // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::not_negative() {
  option_->check([](const std::string& value) {
    return value.starts_with('-') ? fmt::format("{}: it cannot be negative", value) : "";
  });
  return *this;
}

Option& Option::not_empty() {
  option_->check([](const std::string& value) { return value.empty() ? "it cannot be empty" : ""; });
  return *this;
}

Option& Option::between(uint64_t least, uint64_t most) {
  option_->check(CLI::Range(least, most).description("NUMBER"));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::excludes_all_before() {
  for (CLI::Option* other : app_->get_options())
    if (other != option_ && other != app_->get_help_ptr()) option_->excludes(other);
  return *this;
}

CommandOptions::CommandOptions(const std::string& command, const std::string& summary)
    : command_(command), app_(std::make_unique<CLI::App>()) {
  app_->name(fmt::format("rdb {}", command));
  app_->description(fmt::format("{}.", summary));
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandOptions::~CommandOptions() = default;

Option CommandOptions::option(const std::string& names, std::string& variable,
                              const std::string& description) {
  return {*app_, declare(*app_, names, variable, description)};
}

Option CommandOptions::option(const std::string& names, uint64_t& variable, const std::string& description) {
  return {*app_, declare(*app_, names, variable, description)};
}

Option CommandOptions::option(const std::string& names, double& variable, const std::string& description) {
  return {*app_, declare(*app_, names, variable, description)};
}

Option CommandOptions::option(const std::string& names, std::vector<std::string>& variable,
                              const std::string& description) {
  CLI::Option* option = declare(*app_, names, variable, description);
  // Or it would take the words after its value, too.
  if (names.starts_with('-')) option->allow_extra_args(false);
  return {*app_, option};
}

Option CommandOptions::flag(const std::string& names, bool& variable, const std::string& description) {
  return {*app_, app_->add_flag(names, variable, description)};
}

Option CommandOptions::flag(const std::string& names, std::string& variable, const std::string& description) {
  return {*app_, app_->add_flag(names, variable, description)};
}

Option CommandOptions::trace(std::string& variable) {
  return option("TRACE", variable, "The recording: a directory, a name, or nothing for the latest");
}

Option CommandOptions::process(std::string& variable) {
  return option("-p,--process", variable,
                "Choose this program of the recording, as rdb ps names it, instead of the last one of the "
                "first process");
}

Option CommandOptions::bundles(std::vector<std::string>& variable) {
  return option("-m,--module", variable,
                "Bundle with debug regions (found by itself beside the program and its libraries)");
}

Option CommandOptions::no_bundles(bool& variable) {
  return flag("--no-module", variable, "Do not look for bundles beside the program and its libraries");
}

void CommandOptions::footer(const std::string& text) {
  app_->footer(text);
}

void CommandOptions::expect_program() {
  app_->prefix_command();
}

bool CommandOptions::expects_program() const {
  return app_->get_prefix_command();
}

void CommandOptions::keep_other_words() {
  app_->allow_extras();
}

// CLI11 takes "--flag=" for "--flag".
void CommandOptions::refuse_empty_values(std::span<const std::string> words) const {
  for (const std::string& word : words) {
    // From here on the words are not rdb's.
    if (word == "--" || (expects_program() && !word.starts_with('-'))) return;
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    std::string name = word.substr(0, word.size() - 1);
    const CLI::Option* option = app_->get_option_no_throw(name);
    if (option != nullptr && option->get_items_expected_max() == 0)
      user_error("{}: {} needs a value after the '=', or no '='; 'rdb help {}' says what it takes", command_,
                 name, command_);
  }
}

CommandOptions::Parsed CommandOptions::parse(std::vector<std::string> words) {
  refuse_empty_values(words);
  std::ranges::reverse(words); // as CLI11 wants them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return Parsed::help_wanted;
  } catch (const CLI::ParseError& error) {
    user_error("{}: {}; 'rdb help {}' says what it takes", command_, describe(error, *app_), command_);
  }
  return Parsed::options;
}

bool CommandOptions::was_given(const std::string& name) const {
  return app_->count(name) != 0;
}

std::vector<std::string> CommandOptions::other_words() const {
  return app_->remaining();
}

std::string CommandOptions::help() const {
  return app_->help();
}

std::string CommandOptions::footer_text() const {
  return app_->get_footer();
}

std::vector<OptionText> CommandOptions::texts() const {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    OptionText text;
    for (const std::string& name : option->get_snames())
      text.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames())
      text.names.push_back("--" + name);
    text.synopsis = option->get_name(true, true);
    text.description = option->get_description();
    text.takes_value = option->get_expected_min() > 0;
    texts.push_back(std::move(text));
  }
  return texts;
}

} // namespace rdb::cli
