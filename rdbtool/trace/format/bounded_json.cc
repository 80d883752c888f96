// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/bounded_json.h"

#include "rdbtool/base/error.h"

namespace rdb::trace {

nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& path,
                                          const JsonBounds& bounds) {
  using Json = nlohmann::ordered_json;
  using Event = Json::parse_event_t;
  size_t values = 0;
  auto count = [&](int depth, Event event, Json&) {
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= bounds.depth)
        user_error("{}: refused: arrays and objects in it are more than {} deep", path, bounds.depth);
      ++values;
    } else if (event == Event::value || event == Event::key) {
      ++values;
    }
    if (values > bounds.values) user_error("{}: refused: it holds more than {} values", path, bounds.values);
    return true;
  };
  try {
    return Json::parse(text, count);
  } catch (const Json::parse_error& error) {
    user_error("{}: damaged at offset {}: not JSON", path, error.byte == 0 ? 0 : error.byte - 1);
  } catch (const Json::exception&) {
    // A number that no type holds, for example.
    user_error("{}: damaged: it holds a value that cannot be", path);
  }
}

} // namespace rdb::trace
