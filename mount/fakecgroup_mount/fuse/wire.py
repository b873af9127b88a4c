"""The /dev/fuse protocol: numbers and structs of include/uapi/linux/fuse.h, version 7.38.

The structs have the machine's byte order and C's padding. A reply is named after its request and starts with the out
header, whose first two fields are the reply's length and the negative errno.
"""

from __future__ import annotations

from struct import Struct

VERSION = 7
MINOR = 38
OLDEST_MINOR = 31  # Linux 5.4

ROOT_ID = 1

# Opcodes
LOOKUP = 1
FORGET = 2
GETATTR = 3
SETATTR = 4
READLINK = 5
SYMLINK = 6
MKNOD = 8
MKDIR = 9
UNLINK = 10
RMDIR = 11
RENAME = 12
LINK = 13
OPEN = 14
READ = 15
WRITE = 16
STATFS = 17
RELEASE = 18
FSYNC = 20
SETXATTR = 21
GETXATTR = 22
LISTXATTR = 23
REMOVEXATTR = 24
FLUSH = 25
INIT = 26
OPENDIR = 27
READDIR = 28
RELEASEDIR = 29
FSYNCDIR = 30
ACCESS = 34
CREATE = 35
INTERRUPT = 36
DESTROY = 38
IOCTL = 39
POLL = 40
BATCH_FORGET = 42
RENAME2 = 45
LSEEK = 46
COPY_FILE_RANGE = 47
OPCODES = 64  # more than any opcode that the kernel has so far

NOTIFY_POLL = 1
NOTIFY_INVAL_INODE = 2
NOTIFY_INVAL_ENTRY = 3
NOTIFY_STORE = 4

# INIT flags
ATOMIC_O_TRUNC = 1 << 3
BIG_WRITES = 1 << 5
PARALLEL_DIROPS = 1 << 18
MAX_PAGES = 1 << 22
CACHE_SYMLINKS = 1 << 23
HANDLE_KILLPRIV_V2 = 1 << 28

GETATTR_FH = 1 << 0

# SETATTR: which fields count
FATTR_MODE = 1 << 0
FATTR_UID = 1 << 1
FATTR_GID = 1 << 2
FATTR_SIZE = 1 << 3
FATTR_ATIME = 1 << 4
FATTR_MTIME = 1 << 5
FATTR_FH = 1 << 6
FATTR_ATIME_NOW = 1 << 7
FATTR_MTIME_NOW = 1 << 8
FATTR_KILL_SUIDGID = 1 << 11

# OPEN
FOPEN_DIRECT_IO = 1 << 0
FOPEN_NOFLUSH = 1 << 5

READ_LOCKOWNER = 1 << 1  # in read_flags: not by way of the page cache

POLL_SCHEDULE_NOTIFY = 1 << 0

# NOTIFY_INVAL_ENTRY: the name is asked for again, and nothing is unmounted from it. Older kernels drop the name.
EXPIRE_ONLY = 1 << 0
EXPIRY_MINOR = 38  # Linux 6.2

# Requests: the header, then what the opcode adds
_IN = "IIQQIIIHH"  # len opcode unique nodeid uid gid pid total_extlen padding
IN_HEADER = Struct("=" + _IN)
IN_SIZE = IN_HEADER.size

FORGET_IN = Struct("=Q")  # nlookup
FORGET_ONE = Struct("=QQ")  # nodeid nlookup
BATCH_FORGET_IN = Struct("=II")  # count dummy
GETATTR_IN = Struct("=IIQ")  # flags dummy fh
SETATTR_IN = Struct("=IIQQQqqqIIIIIIII")
# valid padding fh size lock_owner atime mtime ctime atimensec mtimensec ctimensec mode unused4 uid gid unused5
MKNOD_IN = Struct("=IIII")  # mode rdev umask padding
MKDIR_IN = Struct("=II")  # mode umask
RENAME_IN = Struct("=Q")  # newdir
RENAME2_IN = Struct("=QII")  # newdir flags padding
LINK_IN = Struct("=Q")  # oldnodeid
OPEN_IN = Struct("=II")  # flags open_flags
CREATE_IN = Struct("=IIII")  # flags mode umask open_flags
RELEASE_IN = Struct("=QIIQ")  # fh flags release_flags lock_owner
READ_IN = Struct("=QqIIQII")  # fh offset size read_flags lock_owner flags padding
WRITE_IN = Struct("=QqIIQII")  # fh offset size write_flags lock_owner flags padding
SETXATTR_IN = Struct("=II")  # size flags (the kernel sends the longer form only after SETXATTR_EXT)
GETXATTR_IN = Struct("=II")  # size padding
ACCESS_IN = Struct("=II")  # mask padding
INIT_IN = Struct("=IIII")  # major minor max_readahead flags; what follows is not needed
POLL_IN = Struct("=QQII")  # fh kh flags events

# Replies
_OUT = "IiQ"  # len error unique
_ATTR = "QQQqqqIIIIIIIIII"
# ino size blocks atime mtime ctime atimensec mtimensec ctimensec mode nlink uid gid rdev blksize flags
OUT_HEADER = Struct("=" + _OUT)
OUT_SIZE = OUT_HEADER.size
ATTR = Struct("=" + _ATTR)
ENTRY_OUT = Struct("=" + _OUT + "QQQQII" + _ATTR)
# nodeid generation entry_valid attr_valid entry_valid_nsec attr_valid_nsec attr
ATTR_OUT = Struct("=" + _OUT + "QII" + _ATTR)  # attr_valid attr_valid_nsec dummy attr
OPEN_OUT = Struct("=" + _OUT + "QII")  # fh open_flags padding
WRITE_OUT = Struct("=" + _OUT + "II")  # size padding
STATFS_OUT = Struct("=" + _OUT + "QQQQQIIII24x")  # blocks bfree bavail files ffree bsize namelen frsize padding spare
GETXATTR_OUT = Struct("=" + _OUT + "II")  # size padding
INIT_OUT = Struct("=" + _OUT + "IIIIHHIIHHI28x")
# major minor max_readahead flags max_background congestion_threshold max_write time_gran max_pages map_alignment flags2
POLL_OUT = Struct("=" + _OUT + "II")  # revents padding
INVAL_ENTRY_OUT = Struct("=" + _OUT + "QII")  # parent namelen flags, then the name and a NUL
INVAL_INODE_OUT = Struct("=" + _OUT + "Qqq")  # ino off len; off < 0: the attributes alone, len 0: to the end
STORE_OUT = Struct("=" + _OUT + "QQII")  # nodeid offset size padding, then the data
NOTIFY_POLL_OUT = Struct("=" + _OUT + "Q")  # kh; unique is 0 and error holds the notification's code
DIRENT = Struct("=QQII")  # ino off namelen type, then the name, padded to 8 bytes
