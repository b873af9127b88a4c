/* The operations: one system call each, or a few. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static void put_stat(struct answer *a, struct stat *st)
{
	char b[160];
	put_bytes(a, b, snprintf(b, sizeof b, "%u %lu %u %u %lld %ld %lld", st->st_mode, (unsigned long)st->st_nlink,
				 st->st_uid, st->st_gid, (long long)st->st_size, (long)st->st_blksize,
				 (long long)st->st_blocks));
}

static void read_all(int fd, struct answer *a)
{
	static __thread char buf[ANSWER_MAX];
	size_t n = 0;
	for (;;) {
		ssize_t r = read(fd, buf + n, sizeof buf - n);
		if (r < 0)
			return fail(a, errno, S_READ);
		if (r == 0)
			break;
		n += r;
	}
	put_bytes(a, buf, n);
}

static void op_read(struct answer *a, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(a, errno, S_OPEN);
	read_all(fd, a);
	close(fd);
}

static void op_write(struct op *op, struct answer *a, const char *path)
{
	uint32_t len;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(a, errno, S_OPEN);
	char *data = expand(op->arg[2], op->len[2], &len);
	ssize_t r = write(fd, data, len);
	int err = errno;
	free(data);
	if (r < 0) {
		close(fd);
		return fail(a, err, S_WRITE);
	}
	if (close(fd) < 0)
		return fail(a, errno, S_CLOSE);
	if ((uint32_t)r == len)
		ok(a);
	else
		put_int(a, r);
}

/* Cpusets hear of a CPU a little later on some kernels, and tasks move out of an empty one later still. */
static void op_cpu(struct op *op, struct answer *a)
{
	char path[100];
	snprintf(path, sizeof path, CPUS "/cpu%d/online", atoi(op->arg[1]));
	op_write(op, a, path);
	nap(60000);
}

static void op_set_affinity(struct op *op, struct answer *a)
{
	struct slot *s = find(op->arg[1]);
	unsigned long mask[16] = { strtoull(op->arg[2], NULL, 10) };
	if (!s)
		return fail(a, E_NOHELPER, 0);
	result(a, syscall(SYS_sched_setaffinity, s->pid, sizeof mask, mask));
}

static void op_list(struct answer *a, const char *path)
{
	DIR *d = opendir(path);
	if (!d)
		return fail(a, errno, S_OPEN);
	ok(a);
	a->type = V_LIST;
	struct dirent *e;
	while ((e = readdir(d)))
		put_item(a, e->d_name, strlen(e->d_name));
	closedir(d);
}

static void op_until(struct op *op, struct answer *a)
{
	for (int i = 0; i < 400; i++) {
		op_read(a, op->arg[1]);
		if (a->err || memmem(a->data, a->len, op->arg[2], op->len[2]))
			return;
		nap(5000);
	}
}

static long long num(const char *s) { return strtoll(s, NULL, 10); }

/* What a kernel does not have, or this thread is not permitted, is left out. */
static long set_capabilities(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct set[2];
	if (syscall(SYS_capget, &head, set) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		set[i].permitted &= permitted >> (32 * i);
		set[i].effective = set[i].permitted & (effective >> (32 * i));
		set[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, set);
}

static void op_as(struct answer *a, uid_t uid, gid_t gid)
{
	/* Raw calls: only this thread.  The saved uid stays 0, which is the way back. */
	set_capabilities(~0ull, ~0ull);
	syscall(SYS_setresuid, 0, 0, 0);
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, 0) < 0)
		return fail(a, errno, 0);
	ok(a);
}

static void op_user_namespace(struct answer *a)
{
	char uids[40], gids[40];
	snprintf(uids, sizeof uids, "0 %u 1", geteuid());
	snprintf(gids, sizeof gids, "0 %u 1", getegid());
	prctl(PR_SET_DUMPABLE, 1); /* else /proc/self is not its own */
	if (syscall(SYS_unshare, CLONE_NEWUSER) < 0 || put("/proc/self/setgroups", "deny") ||
	    put("/proc/self/uid_map", uids) || put("/proc/self/gid_map", gids))
		return fail(a, errno, 0);
	ok(a);
}

static void op_events(struct answer *a, int fd)
{
	char buf[8192] __attribute__((aligned(8))), line[400];
	ok(a);
	a->type = V_LIST;
	for (;;) {
		struct pollfd p = { fd, POLLIN, 0 };
		if (poll(&p, 1, 60) != 1)
			return;
		ssize_t n = read(fd, buf, sizeof buf);
		if (n <= 0)
			return;
		for (char *q = buf; q < buf + n;) {
			struct inotify_event *e = (void *)q;
			put_item(a, line, snprintf(line, sizeof line, "%d %u %s", e->wd, e->mask, e->len ? e->name : ""));
			q += sizeof *e + e->len;
		}
	}
}

/* Each item's data is the place of its handle. */
static void op_epoll_add(struct answer *a, int epoll, const char *name, uint32_t events)
{
	struct handle *h = handle(name);
	struct epoll_event e = { .events = events, .data.u32 = h ? h - handles : 0 };
	result(a, epoll_ctl(epoll, EPOLL_CTL_ADD, h ? h->fd : -1, &e));
}

static void op_ready(struct answer *a, int epoll)
{
	struct epoll_event e[64];
	char line[64];
	int n = epoll_wait(epoll, e, 64, 0);
	if (n < 0)
		return fail(a, errno, 0);
	ok(a);
	a->type = V_LIST;
	for (int i = 0; i < n; i++)
		put_item(a, line, snprintf(line, sizeof line, "%s %u", handles[e[i].data.u32].name, e[i].events));
}

/* A file in memory with some data, at its start; or an empty one. */
static int in_memory(const char *data, uint32_t len)
{
	int fd = syscall(SYS_memfd_create, "copy", 0);
	if (len && write(fd, data, len) < 0)
		return fd;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void put_copied(struct answer *a, int fd, ssize_t copied)
{
	static __thread char buf[ANSWER_MAX];
	if (copied < 0)
		return fail(a, errno, 0);
	ssize_t n = pread(fd, buf, sizeof buf, 0);
	put_bytes(a, buf, n < 0 ? 0 : n);
}

static void put_taken(struct answer *a, ssize_t taken, uint32_t len)
{
	if (taken < 0)
		fail(a, errno, 0);
	else if ((uint32_t)taken == len)
		ok(a);
	else
		put_int(a, taken);
}

static void op_copy(struct op *op, struct answer *a)
{
	const char *name = op->arg[0];
	char **v = op->arg, buf[4096];
	int fd = handle_fd(v[1]), other = -1, ends[2] = { -1, -1 };
	uint32_t len = 0;
	char *data = NULL;
	loff_t at = 0;

	if (!strcmp(name, "sendfile")) {
		at = atoll(v[3]);
		other = in_memory(NULL, 0);
		put_copied(a, other, sendfile(other, fd, at < 0 ? NULL : &at, atoll(v[2])));
	} else if (!strcmp(name, "sendfile_to")) {
		data = expand(v[2], op->len[2], &len);
		other = in_memory(data, len);
		put_taken(a, sendfile(fd, other, NULL, len), len);
	} else if (!strcmp(name, "splice")) {
		at = atoll(v[3]);
		if (pipe(ends) < 0)
			return fail(a, errno, 0);
		ssize_t n = splice(fd, at < 0 ? NULL : &at, ends[1], NULL, atoll(v[2]), 0);
		if (n < 0)
			fail(a, errno, 0);
		else
			put_bytes(a, buf, n ? read(ends[0], buf, sizeof buf) : 0);
	} else if (!strcmp(name, "splice_to")) {
		data = expand(v[2], op->len[2], &len);
		at = atoll(v[3]);
		if (pipe(ends) < 0 || write(ends[1], data, len) < 0)
			return fail(a, errno, 0);
		put_taken(a, splice(ends[0], NULL, fd, at < 0 ? NULL : &at, len, 0), len);
	} else if (!strcmp(name, "copy_range")) {
		ssize_t n = copy_file_range(fd, NULL, handle_fd(v[2]), NULL, atoll(v[3]), 0);
		if (n < 0)
			fail(a, errno, 0);
		else
			put_int(a, n);
	} else if (!strcmp(name, "copy_out")) {
		other = in_memory(NULL, 0);
		put_copied(a, other, copy_file_range(fd, NULL, other, NULL, atoll(v[2]), 0));
	} else {
		data = expand(v[2], op->len[2], &len);
		other = in_memory(data, len);
		put_taken(a, copy_file_range(other, NULL, fd, NULL, len, 0), len);
	}
	free(data);
	close(other);
	close(ends[0]);
	close(ends[1]);
}

#define IS(x) (!strcmp(name, x))
void do_op(struct op *op, struct answer *a)
{
	const char *name = op->arg[0];
	char **v = op->arg;
	struct stat st;
	int fd;
	uint32_t len;

	ok(a);
	if (IS("mkdir"))
		result(a, mkdir(v[1], num(v[2])));
	else if (IS("rmdir"))
		result(a, rmdir(v[1]));
	else if (IS("write"))
		op_write(op, a, v[1]);
	else if (IS("read"))
		op_read(a, v[1]);
	else if (IS("until"))
		op_until(op, a);
	else if (IS("listraw"))
		op_list(a, v[1]);
	else if (IS("stat")) {
		if (lstat(v[1], &st) < 0)
			fail(a, errno, 0);
		else
			put_stat(a, &st);
	} else if (IS("rename"))
		result(a, syscall(SYS_renameat2, AT_FDCWD, v[1], AT_FDCWD, v[2], (unsigned)num(v[3])));
	else if (IS("unlink"))
		result(a, unlink(v[1]));
	else if (IS("symlink"))
		result(a, symlink(v[1], v[2]));
	else if (IS("link"))
		result(a, link(v[1], v[2]));
	else if (IS("readlink")) {
		char buf[4096];
		ssize_t n = readlink(v[1], buf, sizeof buf);
		if (n < 0)
			fail(a, errno, 0);
		else
			put_bytes(a, buf, n);
	} else if (IS("mknod"))
		result(a, mknod(v[1], num(v[2]), num(v[3])));
	else if (IS("creat")) {
		fd = open(v[1], O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, (mode_t)num(v[2]));
		if (fd < 0)
			fail(a, errno, 0);
		else
			close(fd);
	} else if (IS("truncate"))
		result(a, truncate(v[1], num(v[2])));
	else if (IS("chmod"))
		result(a, chmod(v[1], num(v[2])));
	else if (IS("chown"))
		result(a, lchown(v[1], num(v[2]), num(v[3])));
	else if (IS("utimens")) {
		struct timespec t[2] = { { num(v[2]), 0 }, { num(v[3]), 0 } };
		result(a, utimensat(AT_FDCWD, v[1], t, 0));
	} else if (IS("mtime")) {
		if (lstat(v[1], &st) < 0)
			fail(a, errno, 0);
		else
			put_int(a, st.st_mtim.tv_sec);
	} else if (IS("access"))
		result(a, access(v[1], num(v[2])));
	else if (IS("statfs")) {
		struct statfs f;
		char b[160];
		if (statfs(v[1], &f) < 0)
			fail(a, errno, 0);
		else
			put_bytes(a, b, snprintf(b, sizeof b, "%ld %ld %ld %ld %lld %lld", (long)f.f_type, (long)f.f_bsize,
						 (long)f.f_frsize, (long)f.f_namelen, (long long)f.f_blocks,
						 (long long)f.f_files));
	} else if (IS("setxattr"))
		result(a, lsetxattr(v[1], v[2], v[3], op->len[3], num(v[4])));
	else if (IS("getxattr")) {
		static __thread char buf[70000];
		ssize_t n = lgetxattr(v[1], v[2], num(v[3]) ? buf : NULL, num(v[3]));
		if (n < 0)
			fail(a, errno, 0);
		else if (!num(v[3]))
			put_int(a, n);
		else
			put_bytes(a, buf, n);
	} else if (IS("listxattr")) {
		static __thread char buf[70000];
		ssize_t n = llistxattr(v[1], buf, sizeof buf);
		if (n < 0)
			fail(a, errno, 0);
		else {
			a->type = V_LIST;
			for (char *p = buf; p < buf + n; p += strlen(p) + 1)
				put_item(a, p, strlen(p));
		}
	} else if (IS("removexattr"))
		result(a, lremovexattr(v[1], v[2]));
	else if (IS("open")) {
		fd = open(v[2], num(v[3]) | O_CLOEXEC, (mode_t)num(v[4]));
		if (fd < 0)
			fail(a, errno, 0);
		else
			keep(v[1], fd);
	} else if (IS("close")) {
		struct handle *h = handle(v[1]);
		if (h)
			h->name[0] = 0;
		result(a, close(h ? h->fd : -1));
	} else if (IS("fread") || IS("fpread")) {
		static __thread char buf[ANSWER_MAX];
		size_t n = num(v[2]);
		if (n > sizeof buf)
			n = sizeof buf;
		ssize_t r = name[1] == 'p' ? pread(handle_fd(v[1]), buf, n, num(v[3])) : read(handle_fd(v[1]), buf, n);
		if (r < 0)
			fail(a, errno, 0);
		else
			put_bytes(a, buf, r);
	} else if (IS("fwrite") || IS("fpwrite")) {
		char *data = expand(v[2], op->len[2], &len);
		ssize_t r = name[1] == 'p' ? pwrite(handle_fd(v[1]), data, len, num(v[3])) : write(handle_fd(v[1]), data, len);
		int err = errno;
		free(data);
		if (r < 0)
			fail(a, err, 0);
		else if ((uint32_t)r == len)
			ok(a);
		else
			put_int(a, r);
	} else if (IS("lseek")) {
		long long r = lseek(handle_fd(v[1]), num(v[2]), num(v[3]));
		if (r < 0)
			fail(a, errno, 0);
		else
			put_int(a, r);
	} else if (IS("ftruncate"))
		result(a, ftruncate(handle_fd(v[1]), num(v[2])));
	else if (IS("fsync"))
		result(a, fsync(handle_fd(v[1])));
	else if (IS("fstat")) {
		if (fstat(handle_fd(v[1]), &st) < 0)
			fail(a, errno, 0);
		else
			put_stat(a, &st);
	} else if (IS("poll")) {
		struct pollfd p = { handle_fd(v[1]), num(v[2]), 0 };
		int r = poll(&p, 1, 0);
		if (r < 0)
			fail(a, errno, 0);
		else
			put_int(a, r ? p.revents : 0);
	} else if (IS("eventfd")) {
		fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd < 0)
			fail(a, errno, 0);
		else
			keep(v[1], fd);
	} else if (IS("eventcount")) {
		uint64_t n = 0;
		if (read(handle_fd(v[1]), &n, sizeof n) < 0 && errno != EAGAIN)
			fail(a, errno, 0);
		else
			put_int(a, n);
	} else if (IS("epoll")) {
		fd = epoll_create1(EPOLL_CLOEXEC);
		if (fd < 0)
			fail(a, errno, 0);
		else
			keep(v[1], fd);
	} else if (IS("epoll_add"))
		op_epoll_add(a, handle_fd(v[1]), v[2], num(v[3]));
	else if (IS("ready"))
		op_ready(a, handle_fd(v[1]));
	else if (IS("inotify")) {
		fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (fd < 0)
			fail(a, errno, 0);
		else
			keep(v[1], fd);
	} else if (IS("watch")) {
		int wd = inotify_add_watch(handle_fd(v[1]), v[2], num(v[3]));
		if (wd < 0)
			fail(a, errno, 0);
		else
			put_int(a, wd);
	} else if (IS("events"))
		op_events(a, handle_fd(v[1]));
	else if (IS("sendfile") || IS("sendfile_to") || IS("splice") || IS("splice_to") || IS("copy_range") ||
		 IS("copy_out") || IS("copy_in"))
		op_copy(op, a);
	else if (IS("unshare"))
		result(a, unshare(CLONE_NEWCGROUP));
	else if (IS("umask"))
		put_int(a, umask(num(v[1])));
	else if (IS("as"))
		op_as(a, num(v[1]), num(v[2]));
	else if (IS("capabilities"))
		result(a, set_capabilities(strtoull(v[1], NULL, 10), strtoull(v[2], NULL, 10)));
	else if (IS("user_namespace"))
		op_user_namespace(a);
	else if (IS("fork"))
		op_fork(op, a, NULL);
	else if (IS("clone_into"))
		op_fork(op, a, v[2]);
	else if (IS("thread"))
		op_thread(op, a);
	else if (IS("in"))
		op_in(op, a);
	else if (IS("exit")) {
		if (getpid() != syscall(SYS_gettid))
			syscall(SYS_exit, 0);
		_exit(num(v[1]));
	} else if (IS("kill")) {
		struct slot *s = find(v[1]);
		if (!s)
			return fail(a, E_NOHELPER, 0);
		result(a, kill(s->pid, num(v[2])));
		if (num(v[2]) == SIGKILL)
			until_dead(s->pid, 200);
	} else if (IS("state")) {
		struct slot *s = find(v[1]);
		if (!s)
			return fail(a, E_NOHELPER, 0);
		char c = 0;
		for (int i = 0; i < 40; i++) {
			c = state_of(s->pid);
			if (c != 'R')
				break;
			nap(5000);
		}
		put_bytes(a, c ? &c : "gone", c ? 1 : 4);
	} else if (IS("wait")) {
		struct slot *s = find(v[1]);
		int status = 0;
		char b[40];
		if (!s)
			return fail(a, E_NOHELPER, 0);
		pid_t r = 0;
		for (int i = 0; i < 1000; i++) {
			r = waitpid(s->pid, &status, WNOHANG);
			if (r)
				break;
			nap(1000);
		}
		if (r < 0)
			fail(a, errno, 0);
		else if (r == 0)
			fail(a, E_BLOCKED, 0);
		else if (WIFSIGNALED(status))
			put_bytes(a, b, sprintf(b, "signal %d", WTERMSIG(status)));
		else
			put_bytes(a, b, sprintf(b, "exit %d", WEXITSTATUS(status)));
	} else if (IS("proc")) {
		struct slot *s = find(v[1]);
		char path[300];
		if (!s)
			return fail(a, E_NOHELPER, 0);
		snprintf(path, sizeof path, "/proc/%d/%s", s->pid, v[2]);
		op_read(a, path);
	} else if (IS("alloc")) {
		size_t n = num(v[1]);
		char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return fail(a, errno, 0);
		for (size_t i = 0; i < n; i += 4096)
			p[i] = 1;
	} else if (IS("releases"))
		op_releases(a, num(v[1]), v[2]);
	else if (IS("settle"))
		nap(num(v[1]) * 1000);
	else if (IS("cpu"))
		op_cpu(op, a);
	else if (IS("cpus")) {
		char path[100];
		snprintf(path, sizeof path, CPUS "/%s", v[1]);
		op_read(a, path);
	} else if (IS("set_affinity"))
		op_set_affinity(op, a);
	else if (IS("affinity")) {
		struct slot *s = find(v[1]);
		unsigned long mask[16] = { 0 };
		if (!s)
			return fail(a, E_NOHELPER, 0);
		long r = syscall(SYS_sched_getaffinity, s->pid, sizeof mask, mask);
		if (r < 0)
			fail(a, errno, 0);
		else
			put_int(a, mask[0]);
	} else
		fail(a, E_BADOP, 0);
}
