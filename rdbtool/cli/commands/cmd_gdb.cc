// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb gdb: starts an unmodified gdb on a recording, or only serves one for an IDE.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/bundles.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/gdb_process.h"
#include "rdbtool/debug/regions/regions.h"
#include "rdbtool/gdb/protocol/navigator.h"
#include "rdbtool/gdb/protocol/server.h"

#include <csignal>
#include <filesystem>
#include <unistd.h>

namespace rdb::cli {
namespace {

struct GdbOptions {
  std::string trace;
  std::string at = "start";
  std::string server;
  std::string gdb = "gdb";
  std::string process;
  uint64_t memory = 1024;
  std::vector<std::string> modules;
  bool no_module = false;
};

// The debug regions that run as time passes forwards.
struct Debugging {
  std::unique_ptr<debug::DebugSession> session = std::make_unique<debug::DebugSession>();
  debug::RegionRunner runner{*session, {}};
  debug::Regions regions{{}, runner};
};

gdb::AddObservers add_regions(const std::shared_ptr<Bundles>& bundles) {
  if (bundles->empty()) return nullptr;
  return [bundles](replay::Replayer& replayer) {
    auto debugging = std::make_shared<Debugging>();
    for (auto& bundle : *bundles)
      debugging->regions.add(std::move(bundle));
    replayer.add_observer(debugging->regions);
    return debugging;
  };
}

// The recorded program knows the lines of the sources without regions: gdb shows the bundle's copies of
// those.
std::vector<std::string> source_settings(const Bundles& bundles) {
  std::vector<std::string> words;
  for (const auto& bundle : bundles)
    for (const auto& source : bundle->descriptors().sources)
      if (!source.copy.empty())
        words.insert(words.end(), {"-iex", fmt::format("set substitute-path {} {}", source.path,
                                                       std::filesystem::absolute(bundle->path()).string() +
                                                           "/" + source.copy)});
  if (!words.empty())
    say("rdb: gdb shows sources without their debug regions, and counts lines without them");
  return words;
}

// A server is ended by a signal; a Unix socket's file goes with it.
std::string socket_file; // for the signal handler

void remove_at_signal(const gdb::Listener& listener) {
  if (!std::filesystem::is_socket(listener.address())) return;
  socket_file = listener.address();
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    signal(number, [](int received) {
      unlink(socket_file.c_str());
      _exit(128 + received);
    });
}

int run(const GdbOptions& options, const std::vector<std::string>& arguments) {
  trace::TraceReader trace(options.trace);
  std::string program = options.no_module ? "" : trace.metadata().program;
  auto bundles = std::make_shared<Bundles>(choose_bundles(options.modules, program, trace));
  std::vector<std::string> words = source_settings(*bundles);
  gdb::Snapshots::Limits snapshots;
  snapshots.bytes = options.memory << 20;
  gdb::ReplayTarget target({options.trace, options.process, snapshots, add_regions(bundles)});
  target.seek(gdb::Navigator(target).parse(options.at));
  if (options.server.empty()) {
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_gdb(target, options.gdb, words);
  }
  check_names(target);
  gdb::Listener listener(options.server);
  remove_at_signal(listener);
  say(fmt::format("rdb: serving {}; in gdb: target remote {}", target.trace().path(), listener.address()));
  gdb::serve(listener, target, gdb::Serve::until_stopped, say);
  return 0;
}

} // namespace

Action setup_gdb(CommandOptions& command) {
  auto options = std::make_shared<GdbOptions>();
  command.trace(options->trace);
  command.option("--at", options->at, "Begin at a time, NN% or end instead of at the start");
  command.process(options->process);
  command.bundles(options->modules);
  command.no_bundles(options->no_module);
  command.option("--server", options->server,
                 "Only serve: on a Unix socket at this path, or a port of the loopback interface");
  command
      .option("--memory", options->memory, "MiB of memory for snapshots, from which going back begins (1024)")
      .between(1, 1 << 24);
  command.option("--gdb", options->gdb, "The gdb to start");
  command.keep_other_words();
  command.footer("Words behind -- are gdb's own:\n  rdb gdb\n  rdb gdb --at end prog-3 -- -batch -ex bt\n"
                 "  rdb gdb --server 1234");
  return [options, &command] {
    std::vector<std::string> arguments = command.other_words();
    for (const std::string& word : arguments) {
      if (word == "--") break;
      if (word.starts_with("--"))
        user_error("gdb: unknown option '{}'; 'rdb help gdb' says what it takes", word);
    }
    std::erase(arguments, "--");
    // Without TRACE, the first of gdb's words took its place.
    if (options->trace.starts_with('-')) {
      arguments.insert(arguments.begin(), options->trace);
      options->trace.clear();
    }
    return run(*options, arguments);
  };
}

} // namespace rdb::cli
