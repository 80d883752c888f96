// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ioctl requests: what the third argument is under each. Terminals, sockets, files and block devices by name;
// any other well-formed request by the direction and size it carries, unless its family is known for
// structures that point to further memory.
#include "rdbtool/syscalls/spec_words.h"
#include "rdbtool/syscalls/variant_sort.h"
#include "rdbtool/syscalls/variants.h"

#include <cstring>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/random.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace rdb {
namespace {

using namespace spec;

constexpr ArgSpec int_in = in(4, Shape::words32);
constexpr ArgSpec int_out = out(4, Shape::words32);
constexpr ArgSpec int_update = update(4, Shape::words32);
constexpr ArgSpec long_out = out(8, Shape::words64);
constexpr ArgSpec ifreq = update(40);
constexpr ArgSpec ifreq_in = in(40);
constexpr ArgSpec termios_in = in(36), termios_out = out(36);
constexpr ArgSpec termios2_in = in(44), termios2_out = out(44);
constexpr ArgSpec termio_in = in(18), termio_out = out(18);
constexpr ArgSpec winsize_in = in(8), winsize_out = out(8);
constexpr const char* kNested = "a request whose structure points to further memory";
constexpr const char* kCrypt = "file system encryption";
constexpr const char* kUndeclared = "a request that writes what it does not declare";
constexpr ArgSpec fiemap_update{ArgKind::fiemap, NameSet::none, Shape::opaque, 0, 32};

// clang-format off
constexpr auto kRequests = sorted_variants({
  // Terminals.
  variant(TCGETS,          "TCGETS", termios_out),
  variant(TCSETS,          "TCSETS", termios_in),
  variant(TCSETSW,         "TCSETSW", termios_in, emulated, may),
  variant(TCSETSF,         "TCSETSF", termios_in, emulated, may),
  variant(_IOC(_IOC_READ, 'T', 0x2a, 44),  "TCGETS2", termios2_out),
  variant(_IOC(_IOC_WRITE, 'T', 0x2b, 44), "TCSETS2", termios2_in),
  variant(_IOC(_IOC_WRITE, 'T', 0x2c, 44), "TCSETSW2", termios2_in, emulated, may),
  variant(_IOC(_IOC_WRITE, 'T', 0x2d, 44), "TCSETSF2", termios2_in, emulated, may),
  variant(TCGETA,          "TCGETA", termio_out),
  variant(TCSETA,          "TCSETA", termio_in),
  variant(TCSETAW,         "TCSETAW", termio_in, emulated, may),
  variant(TCSETAF,         "TCSETAF", termio_in, emulated, may),
  variant(TIOCGLCKTRMIOS,  "TIOCGLCKTRMIOS", termios_out),
  variant(TIOCSLCKTRMIOS,  "TIOCSLCKTRMIOS", termios_in),
  variant(TCSBRK,          "TCSBRK", i32, emulated, may),
  variant(TCSBRKP,         "TCSBRKP", i32, emulated, may),
  variant(TCXONC,          "TCXONC", i32, emulated, may),
  variant(TCFLSH,          "TCFLSH", i32),
  variant(TIOCSBRK,        "TIOCSBRK"),
  variant(TIOCCBRK,        "TIOCCBRK"),
  variant(TIOCEXCL,        "TIOCEXCL"),
  variant(TIOCNXCL,        "TIOCNXCL"),
  variant(TIOCGEXCL,       "TIOCGEXCL", int_out),
  variant(TIOCSCTTY,       "TIOCSCTTY", i32),
  variant(TIOCNOTTY,       "TIOCNOTTY"),
  variant(TIOCVHANGUP,     "TIOCVHANGUP"),
  variant(TIOCGPGRP,       "TIOCGPGRP", int_out),
  variant(TIOCSPGRP,       "TIOCSPGRP", int_in),
  variant(TIOCGSID,        "TIOCGSID", int_out),
  variant(TIOCOUTQ,        "TIOCOUTQ", int_out),
  variant(TIOCSTI,         "TIOCSTI", in(1, Shape::bytes)),
  variant(TIOCGWINSZ,      "TIOCGWINSZ", winsize_out),
  variant(TIOCSWINSZ,      "TIOCSWINSZ", winsize_in),
  variant(TIOCMGET,        "TIOCMGET", int_out),
  variant(TIOCMBIS,        "TIOCMBIS", int_in),
  variant(TIOCMBIC,        "TIOCMBIC", int_in),
  variant(TIOCMSET,        "TIOCMSET", int_in),
  variant(TIOCMIWAIT,      "TIOCMIWAIT", hex, emulated, may),
  variant(TIOCGICOUNT,     "TIOCGICOUNT", update(80)),
  variant(TIOCGSOFTCAR,    "TIOCGSOFTCAR", int_out),
  variant(TIOCSSOFTCAR,    "TIOCSSOFTCAR", int_in),
  variant(FIONREAD,        "FIONREAD", int_out),
  refused_variant(TIOCLINUX, "TIOCLINUX", EINVAL, "requests of the Linux console"),
  variant(TIOCCONS,        "TIOCCONS"),
  variant(TIOCGSERIAL,     "TIOCGSERIAL", update(72)),
  variant(TIOCSSERIAL,     "TIOCSSERIAL", in(72)),
  variant(TIOCSERGETLSR,   "TIOCSERGETLSR", int_out),
  variant(TIOCGRS485,      "TIOCGRS485", update(32)),
  variant(TIOCSRS485,      "TIOCSRS485", update(32)),
  variant(TIOCPKT,         "TIOCPKT", int_in),
  variant(TIOCGPKT,        "TIOCGPKT", int_out),
  variant(FIONBIO,         "FIONBIO", int_in),
  variant(TIOCSETD,        "TIOCSETD", int_in),
  variant(TIOCGETD,        "TIOCGETD", int_out),
  variant(TIOCGPTN,        "TIOCGPTN", int_out),
  variant(TIOCSPTLCK,      "TIOCSPTLCK", int_in),
  variant(TIOCGPTLCK,      "TIOCGPTLCK", int_out),
  variant(TIOCGPTPEER,     "TIOCGPTPEER", flags(NameSet::open_flags)),
  variant(TIOCGDEV,        "TIOCGDEV", int_out),
  variant(TIOCSIG,         "TIOCSIG", sig),
  variant(0x4b33,          "KDGKBTYPE", out(1)),
  variant(0x4b3a,          "KDSETMODE", i32),
  variant(0x4b3b,          "KDGETMODE", int_update),
  variant(0x4b44,          "KDGKBMODE", int_update),
  variant(0x4b45,          "KDSKBMODE", i32),
  variant(0x5600,          "VT_OPENQRY", int_update),
  variant(0x5601,          "VT_GETMODE", update(8)),
  variant(0x5602,          "VT_SETMODE", in(8)),
  variant(0x5603,          "VT_GETSTATE", update(6)),
  variant(0x5606,          "VT_ACTIVATE", i32),
  variant(0x5607,          "VT_WAITACTIVE", i32, emulated, may),
  // Descriptors of any kind.
  variant(FIOCLEX,         "FIOCLEX"),
  variant(FIONCLEX,        "FIONCLEX"),
  variant(FIOASYNC,        "FIOASYNC", int_in),
  variant(FIOQSIZE,        "FIOQSIZE", long_out),
  // Files.
  variant(FIBMAP,          "FIBMAP", int_update),
  variant(FIGETBSZ,        "FIGETBSZ", int_out),
  variant(FIFREEZE,        "FIFREEZE", hex, emulated, may),
  variant(FITHAW,          "FITHAW", hex, emulated, may),
  variant(FITRIM,          "FITRIM", update(24), emulated, may),
  variant(FICLONE,         "FICLONE", fd, emulated, may),
  variant(FICLONERANGE,    "FICLONERANGE", in(32), emulated, may),
  variant(FIDEDUPERANGE,   "FIDEDUPERANGE", {ArgKind::dedupe_range, NameSet::none, Shape::opaque, 0, 24}, emulated, may),
  variant(FS_IOC_FIEMAP,   "FS_IOC_FIEMAP", fiemap_update, emulated, may),
  variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 42, 32), "EXT4_IOC_GET_ES_CACHE", fiemap_update, emulated, may),
  variant(FS_IOC_GETFLAGS, "FS_IOC_GETFLAGS", update(8)),
  variant(FS_IOC_SETFLAGS, "FS_IOC_SETFLAGS", int_in),
  variant(FS_IOC_GETVERSION, "FS_IOC_GETVERSION", update(8)),
  variant(FS_IOC_FSGETXATTR, "FS_IOC_FSGETXATTR", out(28)),
  variant(FS_IOC_FSSETXATTR, "FS_IOC_FSSETXATTR", in(28)),
  variant(FS_IOC_GETFSLABEL, "FS_IOC_GETFSLABEL", update(256, Shape::bytes)),
  variant(FS_IOC_SETFSLABEL, "FS_IOC_SETFSLABEL", str),
  variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 134, 4), "FS_IOC_MEASURE_VERITY", update(4 + 64)),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 135, 40), "FS_IOC_READ_VERITY_METADATA", ENOTTY, kNested),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96), "PAGEMAP_SCAN", ENOTTY, kNested),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 17, 104), "PROCMAP_QUERY", ENOTTY, "the host's mappings"),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'X', 59, 192), "FS_IOC_GETFSMAP", ENOTTY, kNested),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 23, 80), "FS_IOC_ADD_ENCRYPTION_KEY", ENOTTY, kCrypt),
  refused_variant(_IOC(_IOC_WRITE, 'f', 20, 16), "FS_IOC_GET_ENCRYPTION_PWSALT", ENOTTY, kCrypt),
  refused_variant(_IOC(_IOC_WRITE, 'f', 21, 12), "FS_IOC_GET_ENCRYPTION_POLICY", ENOTTY, kCrypt),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 'f', 22, 9), "FS_IOC_GET_ENCRYPTION_POLICY_EX", ENOTTY, kCrypt),
  variant(_IO(0xb7, 1),    "NS_GET_USERNS"),
  variant(_IO(0xb7, 2),    "NS_GET_PARENT"),
  variant(_IO(0xb7, 3),    "NS_GET_NSTYPE"),
  variant(_IO(0xb7, 4),    "NS_GET_OWNER_UID", int_out),
  // Block devices.
  variant(BLKROSET,        "BLKROSET", int_in),
  variant(BLKROGET,        "BLKROGET", int_out),
  variant(BLKRRPART,       "BLKRRPART", none, emulated, may),
  variant(BLKGETSIZE,      "BLKGETSIZE", long_out),
  variant(BLKFLSBUF,       "BLKFLSBUF", hex, emulated, may),
  variant(BLKRASET,        "BLKRASET", size),
  variant(BLKRAGET,        "BLKRAGET", long_out),
  variant(BLKFRASET,       "BLKFRASET", size),
  variant(BLKFRAGET,       "BLKFRAGET", long_out),
  variant(BLKSECTGET,      "BLKSECTGET", out(2)),
  variant(BLKSSZGET,       "BLKSSZGET", int_out),
  variant(BLKBSZGET,       "BLKBSZGET", update(8)),
  variant(BLKBSZSET,       "BLKBSZSET", int_in),
  variant(BLKGETSIZE64,    "BLKGETSIZE64", long_out),
  variant(BLKDISCARD,      "BLKDISCARD", in(16, Shape::words64), emulated, may),
  variant(BLKSECDISCARD,   "BLKSECDISCARD", in(16, Shape::words64), emulated, may),
  variant(BLKZEROOUT,      "BLKZEROOUT", in(16, Shape::words64), emulated, may),
  variant(BLKIOMIN,        "BLKIOMIN", int_out),
  variant(BLKIOOPT,        "BLKIOOPT", int_out),
  variant(BLKALIGNOFF,     "BLKALIGNOFF", int_out),
  variant(BLKPBSZGET,      "BLKPBSZGET", int_out),
  variant(BLKDISCARDZEROES, "BLKDISCARDZEROES", int_out),
  variant(BLKROTATIONAL,   "BLKROTATIONAL", out(2)),
  variant(0x0301,          "HDIO_GETGEO", update(16)),
  variant(0x4c00,          "LOOP_SET_FD", fd),
  variant(0x4c01,          "LOOP_CLR_FD"),
  variant(0x4c04,          "LOOP_SET_STATUS64", in(232)),
  variant(0x4c05,          "LOOP_GET_STATUS64", update(232)),
  variant(0x4c82,          "LOOP_CTL_GET_FREE"),
  refused_variant(_IOC(_IOC_READ | _IOC_WRITE, 0x12, 130, 16), "BLKREPORTZONE", ENOTTY, kUndeclared),
  // Other devices.
  variant(RNDGETENTCNT,    "RNDGETENTCNT", int_out),
  variant(RNDADDTOENTCNT,  "RNDADDTOENTCNT", int_in),
  variant(RNDADDENTROPY,   "RNDADDENTROPY", in(8)),
  variant(RNDZAPENTCNT,    "RNDZAPENTCNT"),
  variant(RNDCLEARPOOL,    "RNDCLEARPOOL"),
  variant(RNDRESEEDCRNG,   "RNDRESEEDCRNG"),
  refused_variant(_IOC(_IOC_WRITE, 'p', 0x13, 24), "RTC_PARAM_GET", ENOTTY, kUndeclared),
  refused_variant(_IOC(_IOC_READ, 'E', 0x92, 16), "EVIOCGMASK", ENOTTY, kNested),
  // Sockets.
  variant(FIOSETOWN,       "FIOSETOWN", int_in),
  variant(SIOCSPGRP,       "SIOCSPGRP", int_in),
  variant(FIOGETOWN,       "FIOGETOWN", int_out),
  variant(SIOCGPGRP,       "SIOCGPGRP", int_out),
  variant(SIOCATMARK,      "SIOCATMARK", int_out),
  variant(SIOCGSTAMP_OLD,  "SIOCGSTAMP", timeval_out),
  variant(SIOCGSTAMPNS_OLD, "SIOCGSTAMPNS", timespec_out),
  variant(SIOCOUTQNSD,     "SIOCOUTQNSD", int_out),
  variant(SIOCGSKNS,       "SIOCGSKNS"),
  variant(SIOCADDRT,       "SIOCADDRT", in(120)),
  variant(SIOCDELRT,       "SIOCDELRT", in(120)),
  variant(SIOCGIFCONF,     "SIOCGIFCONF", {ArgKind::ifconf, NameSet::none, Shape::opaque, 0, 16}),
  variant(SIOCGIFNAME,     "SIOCGIFNAME", ifreq),
  variant(SIOCGIFFLAGS,    "SIOCGIFFLAGS", ifreq),
  variant(SIOCSIFFLAGS,    "SIOCSIFFLAGS", ifreq_in),
  variant(SIOCGIFADDR,     "SIOCGIFADDR", ifreq),
  variant(SIOCSIFADDR,     "SIOCSIFADDR", ifreq_in),
  variant(SIOCGIFDSTADDR,  "SIOCGIFDSTADDR", ifreq),
  variant(SIOCSIFDSTADDR,  "SIOCSIFDSTADDR", ifreq_in),
  variant(SIOCGIFBRDADDR,  "SIOCGIFBRDADDR", ifreq),
  variant(SIOCSIFBRDADDR,  "SIOCSIFBRDADDR", ifreq_in),
  variant(SIOCGIFNETMASK,  "SIOCGIFNETMASK", ifreq),
  variant(SIOCSIFNETMASK,  "SIOCSIFNETMASK", ifreq_in),
  variant(SIOCGIFMETRIC,   "SIOCGIFMETRIC", ifreq),
  variant(SIOCGIFMEM,      "SIOCGIFMEM", ifreq),
  variant(SIOCGIFMTU,      "SIOCGIFMTU", ifreq),
  variant(SIOCSIFMTU,      "SIOCSIFMTU", ifreq_in),
  variant(SIOCSIFNAME,     "SIOCSIFNAME", ifreq_in),
  variant(SIOCGIFHWADDR,   "SIOCGIFHWADDR", ifreq),
  variant(SIOCSIFHWADDR,   "SIOCSIFHWADDR", ifreq_in),
  variant(SIOCGIFINDEX,    "SIOCGIFINDEX", ifreq),
  variant(SIOCGIFPFLAGS,   "SIOCGIFPFLAGS", ifreq),
  variant(SIOCGIFTXQLEN,   "SIOCGIFTXQLEN", ifreq),
  variant(SIOCSIFTXQLEN,   "SIOCSIFTXQLEN", ifreq_in),
  variant(SIOCGIFMAP,      "SIOCGIFMAP", ifreq),
  variant(SIOCGIFCOUNT,    "SIOCGIFCOUNT", ifreq),
  variant(SIOCGARP,        "SIOCGARP", update(68)),
  refused_variant(SIOCETHTOOL, "SIOCETHTOOL", EOPNOTSUPP, kNested) | harmless_variant,
  // Declared as requests that write nothing, or less than they do.
  variant(TUNSETIFF,       "TUNSETIFF", ifreq),
  variant(TUNGETIFF,       "TUNGETIFF", ifreq),
  variant(TUNGETFEATURES,  "TUNGETFEATURES", int_out),
});
// clang-format on

// Families, by their type byte, whose structures hold pointers or are longer than the request says.
constexpr unsigned char kNestedFamilies[] = {
    'd',  // graphics (DRM)
    'F',  // frame buffers, NVIDIA
    'K',  // AMD compute
    'V',  // video capture
    '|',  // media controllers
    'A',  // sound
    'C',  // sound controls, Bluetooth
    'B',  // Bluetooth networks
    'H',  // Bluetooth, sound hardware, DMA heaps
    'R',  // Bluetooth serial lines
    'U',  // USB devices
    'N',  // NVMe, non-volatile memory
    'M',  // flash memory
    'S',  // CD-ROM, secure processors
    'X',  // XFS
    'a',  // ATM, accelerators
    'b',  // Android's binder
    'i',  // IPMI
    'k',  // SPI
    'n',  // NILFS
    'o',  // DVB, UBI
    '$',  // performance counters
    '!',  // seccomp notifications
    ';',  // VFIO, IOMMU
    '>',  // fences
    0x07, // I2C
    0x09, // RAID
    0x1b, // InfiniBand
    0x22, // SCSI generic
    0x93, // automounter
    0x94, // btrfs
    0xaa, // userfaultfd
    0xae, // KVM
    0xaf, // vhost
    0xb3, // memory cards
    0xb6, // FPGA
    0xcf, // SMB
    0xf5, // F2FS
    0xfd, // device mapper
};

} // namespace

constexpr VariantTable kIoctlRequests{kRequests, 1, 0xff, 2, Unmatched::by_ioctl, ENOTTY};

CallVariant decode_ioctl_request(uint32_t request) {
  if (std::memchr(kNestedFamilies, static_cast<int>(_IOC_TYPE(request)), sizeof kNestedFamilies) != nullptr)
    return refused_variant(request, nullptr, ENOTTY, kNested);
  if (_IOC_SIZE(request) == 0 || _IOC_DIR(request) == _IOC_NONE)
    return refused_variant(request, nullptr, ENOTTY, "a request that does not say what it writes");
  bool writes = (_IOC_DIR(request) & _IOC_READ) != 0;
  // What the kernel writes is also copied in: drivers do not always fill what they announce.
  ArgSpec arg = in(_IOC_SIZE(request));
  if (writes) arg.kind = ArgKind::update_exact;
  return variant(request, nullptr, arg, emulated, may);
}

} // namespace rdb
