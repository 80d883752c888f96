// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/completion.h"

#include "rdbtool/cli/help.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdb::cli {
namespace {

// What a command can be given, as its help lists it.
struct CommandShape {
  std::vector<OptionText> flags;
  bool starts_program = false;
  bool takes_trace = false;
};

CommandShape shape_of(const Command& command) {
  CommandOptions options(command.name, command.summary);
  Action action = command.setup(options);
  CommandShape shape;
  shape.starts_program = options.expects_program();
  for (OptionText& text : options.texts()) {
    if (!text.names.empty())
      shape.flags.push_back(std::move(text));
    else
      shape.takes_trace |= text.synopsis == "TRACE";
  }
  return shape;
}

std::vector<std::string> words_of(const CommandShape& shape, bool with_value_only) {
  std::vector<std::string> words;
  for (const OptionText& flag : shape.flags)
    if (!with_value_only || flag.takes_value) words.insert(words.end(), flag.names.begin(), flag.names.end());
  return words;
}

std::vector<std::string> names_of(std::span<const Command> commands) {
  std::vector<std::string> names;
  for (const Command& command : commands)
    names.emplace_back(command.name);
  return names;
}

// For the inside of single quotes in a shell.
std::string quoted(const std::string& text) {
  std::string result;
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

// zsh's lists take these as syntax.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (char c : quoted(text)) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

// Text as roff shows it unchanged.
std::string roff(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '-' || c == '\\')
      result += c == '-' ? "\\-" : "\\e";
    else
      result += c;
    line_start = c == '\n';
  }
  return result;
}

std::string page_head(const std::string& name, const std::string& version, const std::string& summary) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"rdb {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                     version, roff(name), roff(summary));
}

// Both shells expand the words that they are offered, commands in them included: names that hold anything
// else than letters, digits and a few signs are left out.
constexpr const char* kNames = "_rdb_names() {\n"
                               "  ls \"$1\" 2>/dev/null | LC_ALL=C grep -x '[A-Za-z0-9._+][A-Za-z0-9._+-]*'\n"
                               "}\n";

} // namespace

std::string bash_completion(std::span<const Command> commands) {
  std::string text =
      "# bash completion for rdb, made by 'rdb completion bash'\n" + std::string(kNames) +
      "_rdb() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= values= "
      "traces= program=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  text +=
      fmt::format("    COMPREPLY=($(compgen -W 'help {} --help --version' -- \"$word\"))\n    return\n  fi\n",
                  fmt::join(names_of(commands), " "));
  text += "  case ${COMP_WORDS[1]} in\n";
  text += fmt::format("    help) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                      fmt::join(names_of(commands), " "));
  for (const Command& command : commands) {
    CommandShape shape = shape_of(command);
    text += fmt::format("    {}) options='{}' values='{}' traces={} program={} ;;\n", command.name,
                        fmt::join(words_of(shape, false), " "), fmt::join(words_of(shape, true), " "),
                        shape.takes_trace ? "yes" : "no", shape.starts_program ? "yes" : "no");
  }
  text += "  esac\n"
          "  case \" $values \" in *\" $before \"*) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac\n"
          "  if [ \"${word#-}\" != \"$word\" ]; then\n"
          "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "  elif [ \"$traces\" = yes ]; then\n"
          "    local root=${RDB_TRACE_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/rdb}\n"
          "    COMPREPLY=($(compgen -W \"$(_rdb_names \"$root\")\" -- \"$word\") $(compgen -d -- "
          "\"$word\"))\n"
          "  elif [ \"$program\" = yes ]; then\n"
          "    COMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\"))\n"
          "  else\n"
          "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "  fi\n"
          "}\n"
          "complete -o filenames -F _rdb rdb\n";
  return text;
}

std::string zsh_completion(std::span<const Command> commands) {
  std::string text = "#compdef rdb\n# zsh completion for rdb, made by 'rdb completion zsh'\n" +
                     std::string(kNames) +
                     "_rdb_traces() {\n"
                     "  local root=${RDB_TRACE_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/rdb}\n"
                     "  _alternative 'traces:recording:('\"$(_rdb_names \"$root\" | tr '\\n' ' ')\"')' "
                     "'folders:folder:_files -/'\n"
                     "}\n"
                     "_rdb() {\n"
                     "  local -a commands\n"
                     "  commands=(\n";
  for (const Command& command : commands)
    text += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.summary));
  text += "    'help:Tell what a command does'\n"
          "  )\n"
          "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
          "  local command=${words[2]}\n"
          "  shift words; (( CURRENT-- ))\n"
          "  case $command in\n"
          "    help) _describe command commands ;;\n";
  for (const Command& command : commands) {
    CommandShape shape = shape_of(command);
    text += fmt::format("    {}) _arguments -S", command.name);
    for (const OptionText& flag : shape.flags)
      for (const std::string& name : flag.names)
        text += fmt::format(" '{}[{}]{}'", name, zsh_text(flag.description),
                            flag.takes_value ? ":value:_files" : "");
    text += shape.starts_program ? " '*::program:_normal'"
            : shape.takes_trace  ? " '*:recording:_rdb_traces'"
                                 : " '*:file:_files'";
    text += " ;;\n";
  }
  return text + "  esac\n}\n_rdb \"$@\"\n";
}

std::string manual_overview(std::span<const Command> commands, const std::string& version) {
  std::string text = page_head("rdb", version, "record a run of a program once, then debug that exact run");
  text += ".SH SYNOPSIS\n.B rdb\n.I COMMAND\n[options] ...\n.SH COMMANDS\n";
  for (const Command& command : commands)
    text += fmt::format(".TP\n.BR rdb\\-{} (1)\n{}.\n", roff(command.name), roff(command.summary));
  text += ".SH EXIT STATUS\nThat of the recorded program once one runs; 2 for wrong use; 125 if rdb itself "
          "fails.\n"
          ".SH FILES\n.I $RDB_TRACE_DIR\n(else\n.I $XDG_DATA_HOME/rdb,\nelse\n.I ~/.local/share/rdb)\n"
          "holds the recordings.\n";
  return text;
}

std::string manual_page(const Command& command, const std::string& version) {
  CommandOptions options(command.name, command.summary);
  Action action = command.setup(options);
  std::string text = page_head(fmt::format("rdb-{}", command.name), version, command.summary);
  std::string help = options.help();
  size_t usage = help.find("Usage: ") + 7;
  text += fmt::format(".SH SYNOPSIS\n{}\n.SH OPTIONS\n",
                      roff(help.substr(usage, help.find('\n', usage) - usage)));
  for (const OptionText& option : options.texts()) {
    if (option.description.empty()) continue;
    text += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roff(option.synopsis), roff(option.description));
  }
  std::string footer = options.footer_text();
  if (!footer.empty()) text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(footer));
  return text + ".SH SEE ALSO\n.BR rdb (1)\n";
}

} // namespace rdb::cli
