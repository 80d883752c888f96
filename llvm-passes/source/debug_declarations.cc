// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No parser: a declaration ends at its semicolon, or with the body of its function. Namespaces and extern "C"
// are looked into, unless the namespace's own name says that all of it is debug code.
#include "llvm-passes/source/debug_declarations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace rdb::source {

namespace {

constexpr std::string_view kPrefix = "__rdb_";

struct Token {
  enum class Kind { kEnd, kWord, kString, kOther } kind = Kind::kEnd;
  std::string_view text;
  unsigned line = 0;
  unsigned column = 0;
};

bool is_word(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return std::isalnum(u) || c == '_' || c == '$' || u >= 0x80;
}

// Tokens without comments and directives.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // A directive that was passed over.
  struct Directive {
    unsigned line;
    unsigned column;
    std::string_view text;
  };
  const std::vector<Directive>& directives() const { return directives_; }

  Token next() {
    skip_space();
    Token token{Token::Kind::kEnd, {}, line_, column()};
    size_t begin = at_;
    if (at_ >= text_.size()) return token;
    char c = text_[at_];
    if (is_word(c)) {
      while (at_ < text_.size() && is_word(text_[at_]))
        ++at_;
      token.kind = Token::Kind::kWord;
      std::string_view word = text_.substr(begin, at_ - begin);
      if (at_ < text_.size() && text_[at_] == '"' &&
          (word == "R" || word.ends_with("8R") || word == "LR" || word == "uR" || word == "UR")) {
        skip_raw_string();
        token.kind = Token::Kind::kString;
      } else if (at_ < text_.size() && text_[at_] == '\'' && std::isdigit(static_cast<unsigned char>(c))) {
        // A number with separators.
        while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '\''))
          ++at_;
      }
    } else if (c == '"' || c == '\'') {
      skip_quoted(c);
      token.kind = Token::Kind::kString;
    } else {
      ++at_;
      token.kind = Token::Kind::kOther;
    }
    token.text = text_.substr(begin, at_ - begin);
    on_new_line_ = false;
    return token;
  }

private:
  unsigned column() const { return static_cast<unsigned>(at_ - line_begin_ + 1); }

  void advance() {
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
      on_new_line_ = true;
    }
    ++at_;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      std::string_view rest = text_.substr(at_);
      if (std::isspace(static_cast<unsigned char>(rest[0])) || rest[0] == '\\') {
        bool joined = rest[0] == '\\';
        bool was_new = on_new_line_;
        advance();
        if (joined && at_ < text_.size() && text_[at_] == '\n') {
          advance();
          on_new_line_ = was_new;
        }
      } else if (rest.starts_with("//")) {
        skip_line_comment();
      } else if (rest.starts_with("/*")) {
        skip_comment();
      } else if (rest[0] == '#' && on_new_line_) {
        Directive directive{line_, column(), rest};
        skip_directive();
        directive.text = rest.substr(0, rest.size() - (text_.size() - at_));
        directives_.push_back(directive);
      } else {
        return;
      }
    }
  }

  // To the newline, or the end; a backslash joins lines.
  void skip_line_comment() {
    while (at_ < text_.size() && text_[at_] != '\n')
      skip_character();
  }

  // The same, but comments and strings are what they are elsewhere.
  void skip_directive() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//"))
        skip_line_comment();
      else if (rest.starts_with("/*"))
        skip_comment();
      else if (rest[0] == '"' || rest[0] == '\'')
        skip_quoted(rest[0]);
      else
        skip_character();
    }
  }

  void skip_character() {
    bool joined = text_.substr(at_).starts_with("\\\n") || text_.substr(at_).starts_with("\\\r\n");
    do
      advance();
    while (joined && text_[at_ - 1] != '\n');
  }

  void skip_comment() {
    bool was_new = on_new_line_;
    size_t end = text_.find("*/", at_ + 2);
    end = end == std::string_view::npos ? text_.size() : end + 2;
    while (at_ < end)
      advance();
    on_new_line_ = was_new;
  }

  void skip_quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) advance();
      advance();
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
  }

  void skip_raw_string() {
    size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return skip_quoted('"');
    std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    size_t end = text_.find(close, open);
    end = end == std::string_view::npos ? text_.size() : end + close.size();
    while (at_ < end)
      advance();
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  unsigned line_ = 1;
  bool on_new_line_ = true;
  std::vector<Directive> directives_;
};

class Finder {
public:
  explicit Finder(std::string_view text) : lexer_(text) {}

  std::vector<DebugDeclaration> run() {
    token_ = lexer_.next();
    while (token_.kind != Token::Kind::kEnd)
      declaration();
    for (DebugDeclaration& one : found_) {
      auto next = std::ranges::upper_bound(lexer_.directives(), one.begin_line, {}, &Lexer::Directive::line);
      one.conditional = next != lexer_.directives().end() && next->line < one.end_line;
    }
    for (const Lexer::Directive& directive : lexer_.directives())
      if (defines_attribute(directive.text))
        found_.push_back({directive.line, directive.column, directive.line, true, false, true});
    std::ranges::sort(found_, {}, &DebugDeclaration::begin_line);
    return std::move(found_);
  }

private:
  bool is(std::string_view text) const { return token_.text == text && token_.kind != Token::Kind::kString; }

  void take() {
    last_line_ = token_.line;
    before_ = token_;
    token_ = lexer_.next();
  }

  // Nobody sees then by their text which declarations have it.
  static bool defines_attribute(std::string_view directive) {
    directive.remove_prefix(1);
    while (directive.starts_with(' ') || directive.starts_with('\t'))
      directive.remove_prefix(1);
    return directive.starts_with("define") &&
           (directive.find("annotate(\"rdb\")") != std::string_view::npos ||
            directive.find("annotate__(\"rdb\")") != std::string_view::npos);
  }

  enum class Bracket { kParameters, kAttribute, kOther };

  Bracket bracket() const {
    if (is("[") || before_.text == "__attribute__" || before_.text == "__attribute")
      return Bracket::kAttribute;
    constexpr std::array<std::string_view, 6> words = {"alignas",    "_Alignas", "decltype",
                                                       "__declspec", "requires", "noexcept"};
    return std::ranges::find(words, before_.text) != words.end() ? Bracket::kOther : Bracket::kParameters;
  }

  // Written like a macro: BEGIN_DECLS
  static bool is_shouted(std::string_view word) {
    return word.size() > 1 && std::ranges::none_of(word, [](char c) {
             return std::islower(static_cast<unsigned char>(c)) || c == '$' ||
                    static_cast<unsigned char>(c) >= 0x80;
           });
  }

  void declaration() {
    Token first = token_;
    unsigned line_before = last_line_;
    debug_ = false;
    bool parameters = false, initialiser = false, ended = false;
    bool is_namespace = false, is_linkage = false;
    bool members = false;   // behind the colon of a constructor
    bool condition = false; // behind `requires`, perhaps with its parameters
    unsigned words = 0;
    if (first.kind == Token::Kind::kWord &&
        (first.text.starts_with("rdb_begin") || first.text.starts_with("rdb_end"))) {
      take();
      return;
    }
    if (is("}")) { // of a namespace that is looked into
      take();
      if (is(";")) take();
      return;
    }
    while (token_.kind != Token::Kind::kEnd && !ended) {
      if (is(";")) {
        take();
        ended = true;
      } else if (is("=")) {
        initialiser = true;
        take();
      } else if (is("{")) {
        if ((is_namespace && !debug_) || is_linkage) {
          take();
          return;
        }
        bool is_member = members && (before_.kind == Token::Kind::kWord || before_.text == ">");
        bool is_body = is_namespace || (parameters && !initialiser && !is_member && !condition);
        condition = false;
        take();
        skip_to_closing(Bracket::kOther);
        ended = is_body || first.text == "{";
        if (ended && is(";")) take();
      } else if (is("(") || is("[")) {
        Bracket kind = bracket();
        condition = before_.text == "requires";
        bool lone = words == 1 && before_.kind == Token::Kind::kWord;
        bool is_pointer = is("(") && !initialiser; // int (*__rdb_handler)(int)
        take();
        while (is_pointer && is("*"))
          take();
        if (is_pointer && before_.text == "*" && is_prefixed(token_)) debug_ = true;
        if (kind == Bracket::kParameters && !initialiser) parameters = true;
        skip_to_closing(kind);
        // NAME(...) on a line of its own, without a semicolon: a macro
        if (lone && kind == Bracket::kParameters && token_.line != last_line_ && !is("{")) return;
      } else {
        std::string_view word;
        if (token_.kind == Token::Kind::kWord) {
          word = token_.text;
          ++words;
          if (word == "namespace") is_namespace = true;
          if (!initialiser && is_prefixed(token_)) debug_ = true;
        }
        if (token_.kind == Token::Kind::kString && before_.text == "extern" && words == 1) is_linkage = true;
        bool lone = words == 1 && is_shouted(word);
        members |= is(":") && parameters && (before_.text == ")" || before_.text == "noexcept");
        condition = word == "requires";
        take();
        if (word == "operator") skip_operator();
        if (word == "template" && is("<")) skip_template_head();
        if (is_linkage && !is("{")) is_linkage = false;
        if (lone && token_.line != last_line_) return;
      }
    }
    if (!debug_) return;
    found_.push_back({first.line, first.column, last_line_});
    found_.back().alone =
        first.line > line_before && (token_.kind == Token::Kind::kEnd || token_.line > last_line_);
  }

  // operator==: an equals sign that begins no initialiser.
  void skip_operator() {
    while (token_.kind == Token::Kind::kOther && !is("(") && !is("[") && !is(";"))
      take();
  }

  // Its defaults are no initialisers either.
  void skip_template_head() {
    unsigned depth = 0;
    do {
      if (is("<")) ++depth;
      if (is(">") && before_.text != "-") --depth;
      bool opens = is("(") || is("[") || is("{");
      take();
      if (opens) skip_to_closing(Bracket::kOther);
    } while (depth > 0 && token_.kind != Token::Kind::kEnd);
  }

  // The opening bracket was taken, and perhaps something behind it. Attributes of what a body or a list of
  // parameters declares say nothing about the declaration itself.
  void skip_to_closing(Bracket kind) {
    unsigned depth = 1;
    std::string_view before_that;
    while (depth > 0 && token_.kind != Token::Kind::kEnd) {
      if (is("(") || is("[") || is("{")) ++depth;
      if (is(")") || is("]") || is("}")) --depth;
      if (kind == Bracket::kAttribute && token_.text == "\"rdb\"" && before_.text == "(" &&
          (before_that == "annotate" || before_that == "__annotate__"))
        debug_ = true;
      before_that = before_.text;
      take();
    }
  }

  static bool is_prefixed(const Token& token) {
    return token.kind == Token::Kind::kWord && token.text.starts_with(kPrefix);
  }

  Lexer lexer_;
  Token token_;
  Token before_;
  unsigned last_line_ = 0;
  bool debug_ = false;
  std::vector<DebugDeclaration> found_;
};

} // namespace

std::vector<DebugDeclaration> find_debug_declarations(std::string_view text) {
  if (text.find(kPrefix) == std::string_view::npos && text.find("annotate") == std::string_view::npos)
    return {};
  return Finder(text).run();
}

} // namespace rdb::source
