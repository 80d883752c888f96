// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of making a bundle. The linker itself is asked where everything ended up: the program is linked a
// second time, to a scratch file, from copies of its objects that hold a question for every address. If the
// loaded bytes of both are equal, the answers are true of the program.
#include "llvm-passes/link/link.h"

#include "descriptors/identity.h"
#include "descriptors/text_size.h"
#include "llvm-passes/link/bundle.h"
#include "llvm-passes/link/combine.h"
#include "llvm-passes/link/missing.h"
#include "llvm-passes/link/module.h"
#include "llvm-passes/link/ownership.h"
#include "llvm-passes/link/placement.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/temporary_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rdb {

namespace {

using namespace rdb::link;
using Names = std::set<std::string, std::less<>>;

// One payload of the link and the numbers of its questions.
struct LinkUnit {
  std::string object; // name, for messages
  const descriptors::CarriedPayload* carried;
  descriptors::Descriptors descriptors;
  uint64_t presence = 0;
  std::vector<uint64_t> addresses; // by @K; 0 for places that are gone already
};

// A definition of a name that debug code refers to.
struct NameQuestion {
  uint64_t id;
  std::string name;
  Definition definition;
};

class Linker {
public:
  Linker(const Command& command, const std::string& output, const LinkOptions& options)
      : command_(command), output_(output), options_(options), inputs_(command) {}

  bool has_work() const { return inputs_.have_payloads() || !options_.debug_objects.empty(); }

  void run() {
    open_debug_objects();
    open_program();
    inputs_.add_definers(referenced_names());
    collect_units();
    ask();
    std::vector<const LinkUnit*> live = live_units();
    Combined combined = combine_units(live);
    bind_slots(live, combined.descriptors);
    write_bundle(live, combined);
  }

private:
  // Debug sources are not part of the program: their payloads ask nothing.
  void open_debug_objects() {
    for (const std::string& path : options_.debug_objects) {
      auto file = std::make_shared<MappedFile>(path);
      debug_files_.push_back(file);
      if (!elf::is_elf(file->bytes())) user_error("'{}' is not an object file", path);
      for (descriptors::CarriedPayload& carried : descriptors::read_payloads(elf::File(file->bytes())))
        debug_payloads_.push_back({std::filesystem::path(path).filename(), std::move(carried)});
    }
  }

  void open_program() {
    program_file_ = std::make_unique<MappedFile>(output_);
    if (!elf::is_elf(program_file_->bytes()))
      user_error("'{}' is not a program that rdb can debug: not ELF", output_);
    program_ = std::make_unique<elf::File>(program_file_->bytes());
    identity_ = descriptors::program_identity(*program_);
  }

  static void add_slots(std::string_view debug_object, Names& slots) {
    elf::File object(debug_object);
    for (const elf::Symbol& symbol : object.symbols())
      if (!symbol.defined() && is_slot(symbol.name)) slots.emplace(symbol.name);
  }

  Names referenced_names() {
    Names slots, names;
    for (const InputObject& object : inputs_.objects())
      for (const descriptors::CarriedPayload& carried : object.payloads)
        if (!carried.payload.debug_object.empty()) add_slots(carried.payload.debug_object, slots);
    for (const auto& [name, carried] : debug_payloads_)
      if (!carried.payload.debug_object.empty()) add_slots(carried.payload.debug_object, slots);
    for (std::string_view slot : slots)
      names.emplace(symbol_of_slot(slot));
    names_ = names;
    return names;
  }

  uint64_t ask(InputObject& object, const descriptors::Target& target) {
    object.questions.push_back({++last_question_, target});
    if (target.tls) tls_names_[last_question_] = elf::File(object.bytes).symbols().at(target.symbol).name;
    return last_question_;
  }

  LinkUnit make_unit(const std::string& object, const descriptors::CarriedPayload& carried) {
    LinkUnit unit;
    unit.object = object;
    unit.carried = &carried;
    try {
      unit.descriptors = descriptors::read(carried.payload.descriptors, object);
    } catch (const descriptors::FormatError& error) {
      user_error("the debug information in {} cannot be used, compile it again: {}", object, error.what());
    }
    return unit;
  }

  void collect_units() {
    for (InputObject& object : inputs_.objects()) {
      for (const descriptors::CarriedPayload& carried : object.payloads) {
        LinkUnit unit = make_unit(object.name, carried);
        unit.presence = ask(object, {});
        for (const descriptors::Target& target : carried.targets)
          unit.addresses.push_back(target.kind == descriptors::Target::Kind::discarded ? 0
                                                                                       : ask(object, target));
        units_.push_back(std::move(unit));
      }
      ask_about_names(object);
    }
    for (const auto& [name, carried] : debug_payloads_)
      units_.push_back(make_unit(name, carried));
  }

  void ask_about_names(InputObject& object) {
    elf::File file(object.bytes);
    for (const elf::Symbol& symbol : file.symbols()) {
      if (!symbol.global() || !symbol.defined() || !names_.contains(symbol.name)) continue;
      descriptors::Target target;
      target.tls = symbol.type() == STT_TLS;
      if (symbol.in_section() && !target.tls) {
        target.kind = descriptors::Target::Kind::section;
        target.section = symbol.section;
        target.offset = static_cast<int64_t>(symbol.raw.st_value);
      } else if (symbol.section == SHN_COMMON || target.tls) {
        target.kind = descriptors::Target::Kind::symbol;
        target.symbol = symbol.index;
      } else {
        continue;
      }
      Definition definition;
      definition.thread_local_ = target.tls;
      definition.indirect = symbol.type() == STT_GNU_IFUNC;
      definition.where = object.name;
      bool weak = symbol.binding() == STB_WEAK;
      name_questions_[weak].push_back({ask(object, target), std::string(symbol.name), definition});
    }
  }

  // The second link.
  void ask() {
    if (last_question_ == 0) return;
    if (options_.existing_program) {
      answers_ = Placement(*program_).answers(inputs_.objects());
      return;
    }
    std::string scratch = scratch_.path() + "/program";
    std::string log = scratch_.path() + "/link.log";
    std::vector<std::string> again = command_.repeated(inputs_.write_questions(scratch_.path()), scratch);
    if (int status = run_tool(again, log); status != 0) {
      std::ifstream in(log);
      std::string words((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      limit(
          "'{}' was linked, but its debug code cannot be: linking it a second time, to learn the addresses, "
          "failed with status {}:\n{}",
          output_, status, words);
    }
    MappedFile file(scratch);
    elf::File linked(file.bytes());
    if (descriptors::program_identity(linked).hash != identity_.hash) {
      const char* hint = command_.shared()
                             ? "; gold writes the output's path into a shared library that has no "
                               "soname: give it one with -Wl,-soname,NAME"
                             : "";
      limit("'{}' was linked, but its debug code cannot be: linking it again, to learn the addresses, gave "
            "another "
            "program{}",
            output_, hint);
    }
    answers_ = read_answers(linked);
    drop_discarded_tls(linked);
  }

  // The offset of a thread-local variable that --gc-sections dropped is zero or worse. Such a variable has no
  // symbol in the scratch program, which is never stripped.
  void drop_discarded_tls(const elf::File& linked) {
    std::set<std::pair<std::string_view, uint64_t>> known;
    for (const elf::Symbol& symbol : linked.symbols())
      if (symbol.type() == STT_TLS && symbol.defined()) known.emplace(symbol.name, symbol.raw.st_value);
    for (const auto& [question, name] : tls_names_)
      if (auto found = answers_.find(question);
          found != answers_.end() && !known.contains({name, found->second}))
        answers_.erase(question);
  }

  std::optional<uint64_t> answer(uint64_t question) const {
    auto found = answers_.find(question);
    if (question == 0 || found == answers_.end()) return std::nullopt;
    return found->second;
  }

  // Members of archives are in the program only if the linker took them.
  std::vector<const LinkUnit*> live_units() const {
    std::vector<const LinkUnit*> live;
    for (const LinkUnit& unit : units_)
      if (unit.presence == 0 || answer(unit.presence)) live.push_back(&unit);
    return live;
  }

  Combined combine_units(const std::vector<const LinkUnit*>& live) const {
    std::vector<LinkedUnit> linked;
    for (const LinkUnit* unit : live) {
      LinkedUnit one{unit->descriptors, unit->carried->payload.sources, {}};
      for (uint64_t question : unit->addresses)
        one.addresses.push_back(answer(question));
      linked.push_back(std::move(one));
    }
    return combine(linked);
  }

  std::string support_library() const {
    if (!options_.support_library.empty()) return options_.support_library;
    std::error_code error;
    std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    std::filesystem::path library = self.parent_path().parent_path() / "lib/rdb/librdb_module.a";
    if (!std::filesystem::exists(library, error))
      user_error("rdb's support library '{}' is missing: the installation is not complete", library.string());
    return library;
  }

  // Adds a symbol record for every slot that no unit has bound itself.
  void bind_slots(const std::vector<const LinkUnit*>& live, descriptors::Descriptors& descriptors) {
    Names slots, defined;
    std::map<std::string, std::string, std::less<>> user_of; // slot -> an object that uses it
    for (const LinkUnit* unit : live) {
      const std::string& debug_object = unit->carried->payload.debug_object;
      if (debug_object.empty()) continue;
      Names some;
      add_slots(debug_object, some);
      for (const std::string& slot : some)
        user_of.emplace(slot, unit->object);
      slots.merge(some);
      elf::File object(debug_object);
      for (const elf::Symbol& symbol : object.symbols())
        if (symbol.global() && symbol.defined()) defined.emplace(symbol.name);
    }
    std::map<std::string, Definition, std::less<>> program;
    std::vector<std::pair<std::string, std::string>> unused;
    for (const auto& questions : name_questions_) {
      for (const NameQuestion& question : questions) {
        std::optional<uint64_t> address = answer(question.id);
        if (!address) {
          unused.emplace_back(question.name, question.definition.where);
          continue;
        }
        Definition definition = question.definition;
        definition.address = *address;
        program.emplace(question.name, definition);
      }
    }
    if (options_.existing_program) add_program_names(program);
    Names support;
    support_library_ = support_library();
    MappedFile archive_file(support_library_);
    Archive archive(archive_file.bytes(), support_library_);
    for (const auto& [name, member] : archive.index())
      support.emplace(name);
    Ownership ownership(command_, inputs_, std::move(program), std::move(defined), std::move(support));
    for (auto& [name, where] : unused)
      ownership.add_unused(name, where);
    runtime_ = ownership.runtime();

    for (const descriptors::Symbol& bound : descriptors.symbols)
      slots.erase(bound.slot);
    std::string complaints;
    for (const std::string& slot : slots) {
      if (auto symbol = ownership.decide(slot))
        descriptors.symbols.push_back(*symbol);
      else if (slot.starts_with(kLentSlotPrefix))
        empty_slots_.push_back(slot);
      else if (!bind_to_nothing(live, slot, descriptors))
        complaints += "\n  " + user_of[slot] + ": " + ownership.why_not(slot);
    }
    if (!complaints.empty()) user_error("debug code uses what is not there:{}", complaints);
  }

  // The other objects of an existing program are not at hand, but their symbols are.
  void add_program_names(std::map<std::string, Definition, std::less<>>& program) const {
    Placement placement(*program_);
    for (const std::string& name : names_) {
      const std::vector<elf::Symbol>* found = placement.find(name);
      if (found == nullptr) continue;
      for (const elf::Symbol& symbol : *found)
        if (symbol.global())
          program.emplace(name, Definition{symbol.raw.st_value, symbol.type() == STT_TLS,
                                           symbol.type() == STT_GNU_IFUNC, program_name()});
    }
  }

  std::string program_name() const {
    return std::filesystem::path(options_.bundle_for.empty() ? output_ : options_.bundle_for).filename();
  }

  // A unit's own static that the optimiser removed: the regions that use it lose their places, and the slot
  // stays empty. False if the slot is not a unit's own, or something else than regions uses it.
  bool bind_to_nothing(const std::vector<const LinkUnit*>& live, const std::string& slot,
                       descriptors::Descriptors& descriptors) {
    for (const LinkUnit* unit : live) {
      std::string own = std::string(kSlotPrefix) + unit->carried->payload.unit + "_";
      if (!slot.starts_with(own)) continue;
      Names users = users_of(elf::File(unit->carried->payload.debug_object), slot);
      for (const std::string& user : users)
        if (!user.starts_with("__rdb_fn_")) return false;
      std::string name = slot.substr(own.size());
      withdraw_regions(descriptors, users, "the optimiser removed or changed the static '" + name + "'");
      empty_slots_.push_back(slot);
      return true;
    }
    return false;
  }

  void write_bundle(const std::vector<const LinkUnit*>& live, Combined& combined) {
    combined.descriptors.program.push_back({program_name(), identity_.build_id, identity_.hash});
    BundleWriter bundle(options_.bundle_for.empty() ? output_ : options_.bundle_for);
    std::vector<std::string> objects;
    auto add_object = [&](const std::string& bytes) {
      std::string path = scratch_.path() + "/debug" + std::to_string(objects.size()) + ".o";
      std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      objects.push_back(path);
    };
    for (const LinkUnit* unit : live)
      if (!unit->carried->payload.debug_object.empty()) add_object(unit->carried->payload.debug_object);
    add_object(slot_object(combined.descriptors, empty_slots_));
    link_module(command_, objects, support_library_, runtime_, scratch_.path(), bundle.path("module.so"));
    for (const LinkUnit* unit : live)
      if (const descriptors::Payload& payload = unit->carried->payload; !payload.twin_object.empty())
        bundle.write(twin_path(unit->object, payload.unit), payload.twin_object);
    for (const BundleSource& source : combined.sources)
      bundle.write_source(source.path, source.text);
    std::string text = descriptors::write(combined.descriptors);
    if (text.size() > descriptors::kMaxText)
      limit("descriptors of {} bytes; rdb reads at most {}", text.size(), descriptors::kMaxText);
    bundle.write("descriptors", text);
    bundle.publish();
  }

  // The key comes out of a file, and becomes a name of one.
  static std::string twin_path(const std::string& object, const std::string& key) {
    bool is_key = !key.empty() && std::ranges::all_of(key, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
    if (!is_key) user_error("the debug information in {} cannot be used: '{}' is no key", object, key);
    return "twins/" + key + ".o";
  }

  struct NamedPayload {
    std::string name;
    descriptors::CarriedPayload carried;
  };

  const Command& command_;
  const std::string& output_;
  const LinkOptions& options_;
  Inputs inputs_;
  std::vector<std::shared_ptr<MappedFile>> debug_files_;
  std::vector<NamedPayload> debug_payloads_;
  TemporaryFolder scratch_{"rdb-link"};
  std::unique_ptr<MappedFile> program_file_;
  std::unique_ptr<elf::File> program_;
  descriptors::Identity identity_;
  Names names_; // that debug code refers to
  std::vector<LinkUnit> units_;
  std::vector<NameQuestion> name_questions_[2]; // strong ones before weak ones
  uint64_t last_question_ = 0;
  std::map<uint64_t, std::string> tls_names_; // questions about thread-local variables
  std::multimap<uint64_t, uint64_t> answers_;
  std::vector<std::string> empty_slots_;
  std::string support_library_;
  std::vector<std::string> runtime_;
};

} // namespace

int after_link(const std::vector<std::string>& linker_command, const std::string& output,
               const LinkOptions& options) {
  Command command(linker_command);
  if (command.relocatable()) return 0;
  try {
    Linker linker(command, output, options);
    if (!linker.has_work())
      remove_bundle(output);
    else
      linker.run();
  } catch (const elf::Error& error) {
    user_error("cannot make the debug code of '{}': {}", output, error.what());
  }
  return 0;
}

void bind_objects(const std::string& program, const std::vector<std::string>& objects,
                  const std::vector<std::string>& libraries, const std::string& bundle_for) {
  // As the linker would have been called.
  std::vector<std::string> words = {"ld", "-o", program};
  words.insert(words.end(), objects.begin(), objects.end());
  words.insert(words.end(), libraries.begin(), libraries.end());
  LinkOptions options;
  options.existing_program = true;
  options.bundle_for = bundle_for;
  after_link(words, program, options);
}

} // namespace rdb
