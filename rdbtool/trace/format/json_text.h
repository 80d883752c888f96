// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strings of the guest's world in JSON. Paths, arguments and environments are bytes, JSON is Unicode: a
// string that is not valid UTF-8 is written as {"hex": "..."} so that nothing is lost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdb::trace {

nlohmann::ordered_json text_to_json(std::string_view text);
// Throws nlohmann::json::exception if it is neither.
std::string text_from_json(const nlohmann::ordered_json& value);

} // namespace rdb::trace
