// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "store.h"

#include <stdexcept>

Store::Store(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "r+")) {
  if (!file_) throw std::runtime_error(path + " cannot be opened");
  index();
}

Store::~Store() {
  std::fclose(file_);
}

bool Store::read_line(std::string& line) {
  line.clear();
  int character;
  while ((character = std::fgetc(file_)) != EOF && character != '\n')
    line.push_back(static_cast<char>(character));
  return character != EOF || !line.empty();
}

void Store::index() {
  std::string line;
  for (long at = 0; read_line(line); at = std::ftell(file_)) {
    if (line.empty() || line[0] == ' ') continue;
    int number = 0, parent = 0;
    if (std::sscanf(line.c_str(), "%d %d", &number, &parent) != 2 || number <= 0)
      throw std::runtime_error(path_ + ": \"" + line + "\" begins no page");
    if (parent && !has(parent))
      throw std::runtime_error(path_ + ": the parent of \"" + line + "\" is missing");
    places_[number] = {at, parent};
  }
}

Page* Store::load(int number) {
  auto* page = new Page;
  page->number = number;
  loads_++;
  std::string line;
  std::fseek(file_, places_.at(number).offset, SEEK_SET);
  read_line(line);
  while (read_line(line) && line.compare(0, 2, "  ") == 0) {
    size_t space = line.find(' ', 2);
    if (space != std::string::npos) page->fields[line.substr(2, space - 2)] = line.substr(space + 1);
  }
  return page;
}

void Store::save(const Page& page) {
  Place& place = places_.at(page.number);
  std::fseek(file_, 0, SEEK_END);
  place.offset = std::ftell(file_);
  std::fprintf(file_, "%d %d\n", page.number, place.parent);
  for (const auto& [name, value] : page.fields)
    std::fprintf(file_, "  %s %s\n", name.c_str(), value.c_str());
  std::fflush(file_);
  saves_++;
}
