// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/metadata.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/format/bounded_json.h"
#include "rdbtool/trace/format/json_text.h"
#include "rdbtool/trace/format/process_info.h"
#include "rdbtool/trace/store.h"

#include <algorithm>
#include <cstring>

namespace rdb::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEndNames[] = {"exited", "signalled", "stopped", "disk-full", "failed"};

Json texts_to_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push_back(text_to_json(text));
  return list;
}

std::vector<std::string> texts_from_json(const Json& list) {
  if (!list.is_array()) throw std::invalid_argument("a list of strings is something else");
  std::vector<std::string> texts;
  for (const Json& text : list)
    texts.push_back(text_from_json(text));
  return texts;
}

// Seeds and hashes use all 64 bits, which readers in other languages round: they are written as hex strings.
std::string to_hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

uint64_t from_hex(const Json& value) {
  std::string text = value.get<std::string>();
  size_t used = 0;
  uint64_t number = std::stoull(text, &used, 16);
  if (used != text.size()) throw std::invalid_argument("'" + text + "' is no hexadecimal number");
  return number;
}

Json end_to_json(const TraceEnd& end) {
  return {{"kind", kEndNames[static_cast<int>(end.kind)]},
          {"status", end.status},
          {"reason", text_to_json(end.reason)},
          {"unix_ns", end.unix_ns}};
}

TraceEnd end_from_json(const Json& json) {
  TraceEnd end;
  std::string kind = json.at("kind").get<std::string>();
  size_t i = 0;
  while (i < std::size(kEndNames) && kind != kEndNames[i])
    ++i;
  if (i == std::size(kEndNames)) throw std::invalid_argument("unknown kind of end '" + kind + "'");
  end.kind = static_cast<EndKind>(i);
  end.status = json.at("status").get<int32_t>();
  end.reason = text_from_json(json.at("reason"));
  end.unix_ns = json.at("unix_ns").get<uint64_t>();
  return end;
}

Json files_to_json(const std::vector<MappedFile>& files) {
  Json list = Json::array();
  for (const MappedFile& file : files)
    list.push_back({{"path", text_to_json(file.path)},
                    {"content", to_string(file.content)},
                    {"build_id", file.build_id}});
  return list;
}

std::vector<MappedFile> files_from_json(const Json& list) {
  std::vector<MappedFile> files;
  for (const Json& json : list) {
    MappedFile file;
    file.path = text_from_json(json.at("path"));
    file.build_id = json.at("build_id").get<std::string>();
    std::string content = json.at("content").get<std::string>();
    if (!parse_content_id(content, file.content))
      throw std::invalid_argument("'" + content + "' names no file");
    files.push_back(std::move(file));
  }
  return files;
}

} // namespace

std::string TraceEnd::summary() const {
  switch (kind) {
  case EndKind::exited:
    return fmt::format("exit {}", status);
  case EndKind::signalled: {
    const char* name = sigabbrev_np(status);
    return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", status);
  }
  case EndKind::stopped:
    return "stopped";
  case EndKind::disk_full:
    return "disk full";
  case EndKind::failed:
    return "rdb failed";
  }
  return "unknown";
}

std::string Metadata::to_json() const {
  Json json = {
      {"format", format},
      {"rdb_version", rdb_version},
      {"id", id},
      {"state", state == TraceState::running ? "running" : "finished"},
      {"program", text_to_json(program)},
      {"command", texts_to_json(command)},
      {"directory", text_to_json(directory)},
      {"started_unix_ns", started_unix_ns},
      {"kernel", kernel},
      {"cpu",
       {{"vendor", cpu.vendor},
        {"family", cpu.family},
        {"model", cpu.model},
        {"stepping", cpu.stepping},
        {"features", cpu.features}}},
      {"layout", layout_version},
      {"layout_top", to_hex(layout_top)},
      {"layout_seed", to_hex(layout_seed)},
      {"aslr", aslr},
      {"chaos_seed", chaos_seed ? Json(to_hex(*chaos_seed)) : Json(nullptr)},
      {"checksums", checksums},
  };
  if (state == TraceState::finished) {
    json["end"] = end_to_json(end);
    json["files"] = files_to_json(files);
  }
  json["environment"] = texts_to_json(environment);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Metadata Metadata::from_json(std::string_view text, const std::string& path) {
  Json json = parse_bounded_json(text, path, kMetadataBounds);
  try {
    Metadata m;
    m.format = json.at("format").get<uint32_t>();
    m.rdb_version = json.at("rdb_version").get<std::string>();
    if (!is_readable_version(m.format))
      user_error("{}: trace format {} (recorded by rdb {}); this rdb reads formats {} and {}: replay it with "
                 "that version",
                 path, m.format, m.rdb_version, kOldestFormatVersion, kFormatVersion);
    m.id = json.at("id").get<std::string>();
    std::string state = json.at("state").get<std::string>();
    if (state != "running" && state != "finished")
      throw std::invalid_argument("unknown state '" + state + "'");
    m.state = state == "running" ? TraceState::running : TraceState::finished;
    m.program = text_from_json(json.at("program"));
    m.command = texts_from_json(json.at("command"));
    m.environment = texts_from_json(json.at("environment"));
    m.directory = text_from_json(json.at("directory"));
    m.started_unix_ns = json.at("started_unix_ns").get<uint64_t>();
    m.kernel = json.at("kernel").get<std::string>();
    const Json& cpu = json.at("cpu");
    m.cpu.vendor = cpu.at("vendor").get<std::string>();
    m.cpu.family = cpu.at("family").get<uint32_t>();
    m.cpu.model = cpu.at("model").get<uint32_t>();
    m.cpu.stepping = cpu.at("stepping").get<uint32_t>();
    m.cpu.features = texts_from_json(cpu.at("features"));
    m.layout_version = json.value("layout", 1u);
    if (m.layout_version < 1 || m.layout_version > kLayoutVersions)
      user_error("{}: memory layout {} (recorded by rdb {}); this rdb knows layouts up to {}: replay it with "
                 "that version",
                 path, m.layout_version, m.rdb_version, kLayoutVersions);
    if (json.contains("layout_top")) m.layout_top = from_hex(json.at("layout_top"));
    m.layout_seed = from_hex(json.at("layout_seed"));
    m.aslr = json.at("aslr").get<bool>();
    if (!json.at("chaos_seed").is_null()) m.chaos_seed = from_hex(json.at("chaos_seed"));
    m.checksums = json.at("checksums").get<bool>();
    if (m.state == TraceState::finished) {
      m.end = end_from_json(json.at("end"));
      m.files = files_from_json(json.at("files"));
    }
    return m;
  } catch (const Json::exception& error) {
    std::string what = error.what();
    // The library's words begin with "[its name for the kind of error] ".
    user_error("{}: not the metadata of a trace: {}", path, what.substr(what.find("] ") + 2));
  } catch (const std::logic_error& error) {
    user_error("{}: not the metadata of a trace: {}", path, error.what());
  }
}

std::string to_json(const ProcessInfo& info) {
  Json json = {{"format", kFormatVersion},
               {"number", info.number},
               {"origin", name_of(info.origin)},
               {"pid", info.pid},
               {"parent_pid", info.parent_pid},
               {"parent", info.parent},
               {"parent_time", info.parent_time.value},
               {"program", text_to_json(info.program)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ProcessInfo process_info_from_json(std::string_view text, const std::string& name, const std::string& path) {
  Json json = parse_bounded_json(text, path, kMetadataBounds);
  try {
    ProcessInfo info;
    info.name = name;
    info.number = json.at("number").get<uint64_t>();
    std::string origin = json.at("origin").get<std::string>();
    const auto kinds = {ProcessOrigin::spawned, ProcessOrigin::forked, ProcessOrigin::execed};
    const auto* kind =
        std::ranges::find(kinds, origin, [](ProcessOrigin one) { return std::string(name_of(one)); });
    if (kind == kinds.end()) throw std::invalid_argument("unknown origin '" + origin + "'");
    info.origin = *kind;
    info.pid = json.at("pid").get<int32_t>();
    info.parent_pid = json.at("parent_pid").get<int32_t>();
    info.parent = json.at("parent").get<std::string>();
    info.parent_time = Time(json.at("parent_time").get<uint64_t>());
    info.program = text_from_json(json.at("program"));
    return info;
  } catch (const Json::exception& error) {
    user_error("{}: not the description of a process: {}", path, error.what());
  } catch (const std::logic_error& error) {
    user_error("{}: not the description of a process: {}", path, error.what());
  }
}

} // namespace rdb::trace
