// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The folder beside a program: debug module, descriptors, stripped sources. It is made elsewhere and put into
// its place in one step, so that a reader finds an old one or a new one, never half of one.
#pragma once

#include <string>

namespace rdb::link {

// "prog" -> "prog.rdb"
std::string bundle_path(const std::string& program);

class BundleWriter {
public:
  // Makes a folder beside the program. A UserError if what stands in the bundle's place is no bundle.
  explicit BundleWriter(const std::string& program);
  ~BundleWriter(); // removes it, unless it was published
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const; // makes folders as needed
  // The same for a stripped source. It is what the program was compiled from, so it is given a time older
  // than any program: gdb would warn that it is more recent.
  void write_source(const std::string& name, const std::string& content) const;
  void publish();

private:
  void check_target() const;
  void set_modes() const;

  std::string folder_;
  std::string target_;
};

// Removes a bundle that an earlier link left: it does not fit the program any more. What is not surely a
// bundle, or holds anything else, stays.
void remove_bundle(const std::string& program);

} // namespace rdb::link
