// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "store.h"

#include <sstream>
#include <stdexcept>

Store::Store(const std::string& path) : path_(path), file_(path, std::ios::in | std::ios::out) {
  if (!file_) throw std::runtime_error(path + " cannot be opened");
  index();
}

void Store::index() {
  std::string line;
  for (std::streamoff at = 0; std::getline(file_, line); at = file_.tellg()) {
    if (line.empty() || line[0] == ' ') continue;
    std::istringstream words(line);
    int number = 0, parent = 0;
    if (!(words >> number >> parent) || number <= 0)
      throw std::runtime_error(path_ + ": \"" + line + "\" begins no page");
    if (parent && !has(parent))
      throw std::runtime_error(path_ + ": the parent of \"" + line + "\" is missing");
    places_[number] = {at, parent};
  }
  file_.clear();
}

Page* Store::load(int number) {
  auto* page = new Page;
  page->number = number;
  loads_++;
  std::string line;
  file_.seekg(places_.at(number).offset);
  std::getline(file_, line);
  while (std::getline(file_, line) && line.compare(0, 2, "  ") == 0) {
    size_t space = line.find(' ', 2);
    if (space != std::string::npos) page->fields[line.substr(2, space - 2)] = line.substr(space + 1);
  }
  file_.clear();
  return page;
}

void Store::save(const Page& page) {
  Place& place = places_.at(page.number);
  file_.seekp(0, std::ios::end);
  place.offset = file_.tellp();
  file_ << page.number << " " << place.parent << "\n";
  for (const auto& [name, value] : page.fields)
    file_ << "  " << name << " " << value << "\n";
  file_.flush();
  saves_++;
}
