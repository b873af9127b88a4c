/*
 * The oracle's guest: pid 1 of a small virtual machine.  It mounts a cgroup layout, takes cases from shared
 * memory (an ivshmem device), does their operations with plain system calls and leaves the answers there.
 *
 * Who does what:  pid 1 starts one runner per case, watches it, and puts the tree back to its first state
 * afterwards.  The runner does the operations; helper processes and threads (operations "fork" and "thread") are
 * loops that wait for one operation at a time, so that an operation can be done by any of them ("in NAME ...").
 *
 * The layout of the shared memory and of an operation is described in wire.py, the other end.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x31474346u /* "FCG1" */
#define ROOT "/cg"

struct header {
	uint32_t magic, layout;
	uint32_t cases, first;
	uint64_t in, out, out_size;
	/* written here, read by the host */
	volatile uint64_t out_used, progress;
	volatile uint32_t state, current;
};
enum { BOOTING, RUNNING, DONE, DIRTY };
enum { CASE_OK, CASE_HANG, CASE_LOST };
#define END_OF_CASE 0xffffffffu

static struct header *shm;

/* ---------------------------------------------------------------- operations and answers */

#define MAX_ARGS 40
struct op {
	uint32_t n;
	uint32_t len[MAX_ARGS];
	char *arg[MAX_ARGS];
};

enum { V_NONE, V_INT, V_BYTES, V_LIST };
enum { S_NONE, S_OPEN, S_READ, S_WRITE, S_CLOSE };
#define ANSWER_MAX (256 * 1024)
struct answer {
	int err;
	uint32_t step, type, len;
	char data[ANSWER_MAX];
};
#define E_KILLED 10001  /* the process that should answer died */
#define E_BLOCKED 10002 /* it did not answer in time */
#define E_NOHELPER 10003
#define E_BADOP 10004

#define SLOTS 48
struct slot {
	char name[32];
	pid_t pid, tgid;
	struct op op;
	struct answer answer;
};
struct shared {
	int used; /* slots given out in this case; slot 0 is the runner */
	struct slot slot[SLOTS];
};
static struct shared *sh;
static int pipes[SLOTS][2];

struct handle {
	char name[32];
	int fd;
};
static struct handle handles[64];

static char *parse(char *p, struct op *op)
{
	uint32_t n, i;
	memcpy(&n, p, 4);
	p += 4;
	op->n = n;
	for (i = 0; i < n; i++) {
		uint32_t len;
		memcpy(&len, p, 4);
		p += 4;
		if (i < MAX_ARGS) {
			op->len[i] = len;
			op->arg[i] = p;
		}
		p += len + 1;
	}
	if (op->n > MAX_ARGS)
		op->n = MAX_ARGS;
	return p;
}

static void fail(struct answer *a, int err, int step)
{
	a->err = err;
	a->step = step;
	a->type = V_NONE;
	a->len = 0;
}
static void ok(struct answer *a) { fail(a, 0, 0); }
static void put_int(struct answer *a, long long v)
{
	ok(a);
	a->type = V_INT;
	a->len = sprintf(a->data, "%lld", v);
}
static void put_bytes(struct answer *a, const void *p, size_t n)
{
	ok(a);
	a->type = V_BYTES;
	if (n > ANSWER_MAX)
		n = ANSWER_MAX;
	memcpy(a->data, p, n);
	a->len = n;
}
static void put_item(struct answer *a, const void *p, uint32_t n)
{
	if (a->type != V_LIST) {
		ok(a);
		a->type = V_LIST;
	}
	if (a->len + 4 + n > ANSWER_MAX)
		return;
	memcpy(a->data + a->len, &n, 4);
	memcpy(a->data + a->len + 4, p, n);
	a->len += 4 + n;
}
static void result(struct answer *a, long r)
{
	if (r < 0)
		fail(a, errno, 0);
	else
		ok(a);
}

static struct slot *find(const char *name)
{
	for (int i = sh->used - 1; i >= 0; i--)
		if (!strcmp(sh->slot[i].name, name))
			return &sh->slot[i];
	return NULL;
}

static int handle_fd(const char *name);

/* Data to write: "$name" becomes the pid of that process, or the number of the file open under that name. */
static char *expand(const char *in, uint32_t len, uint32_t *out_len)
{
	char *buf = malloc(len + 4096);
	uint32_t i = 0, o = 0;
	while (i < len) {
		if (in[i] == '$') {
			char name[32];
			uint32_t j = i + 1, n = 0;
			while (j < len && n < 31 && (isalnum((unsigned char)in[j]) || in[j] == '_'))
				name[n++] = in[j++];
			name[n] = 0;
			struct slot *s = n ? find(name) : NULL;
			int fd = n && !s ? handle_fd(name) : -1;
			if ((s || fd >= 0) && o < len + 4000) {
				o += sprintf(buf + o, "%d", s ? s->pid : fd);
				i = j;
				continue;
			}
		}
		buf[o++] = in[i++];
	}
	*out_len = o;
	return buf;
}

static struct handle *handle(const char *name)
{
	for (int i = 0; i < 64; i++)
		if (handles[i].name[0] && !strcmp(handles[i].name, name))
			return &handles[i];
	return NULL;
}
static int handle_fd(const char *name)
{
	struct handle *h = handle(name);
	return h ? h->fd : -1;
}
static void keep(const char *name, int fd)
{
	struct handle *h = handle(name);
	if (h)
		close(h->fd);
	for (int i = 0; !h && i < 64; i++)
		if (!handles[i].name[0])
			h = &handles[i];
	if (!h)
		return;
	snprintf(h->name, sizeof h->name, "%s", name);
	h->fd = fd;
}

static void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	nanosleep(&t, NULL);
}

/* The state letter of a process or thread; 0 when it is gone. */
static int state_of(pid_t pid)
{
	char path[64], buf[512];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, buf, sizeof buf - 1);
	close(fd);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	char *p = strrchr(buf, ')');
	return p ? p[2] : 0;
}
static int dead(int state) { return state == 0 || state == 'Z' || state == 'X'; }
static void until_dead(pid_t pid, int ms)
{
	for (int i = 0; i < ms && !dead(state_of(pid)); i++)
		nap(1000);
	nap(3000); /* a cgroup hears of the death a little after /proc shows it */
}

static void do_op(struct op *op, struct answer *a);

static void helper(int slot)
{
	char c;
	for (;;) {
		if (read(pipes[slot][1], &c, 1) != 1) {
			if (errno == EINTR)
				continue;
			_exit(0);
		}
		do_op(&sh->slot[slot].op, &sh->slot[slot].answer);
		write(pipes[slot][1], "k", 1);
	}
}
static void *thread_main(void *p)
{
	int slot = (int)(intptr_t)p;
	sh->slot[slot].tgid = getpid();
	sh->slot[slot].pid = syscall(SYS_gettid);
	helper(slot);
	return NULL;
}

static int new_slot(const char *name)
{
	if (sh->used >= SLOTS)
		return -1;
	int i = sh->used;
	struct slot *s = &sh->slot[i];
	snprintf(s->name, sizeof s->name, "%s", name);
	s->pid = s->tgid = 0;
	return i;
}

static void op_fork(struct op *op, struct answer *a, const char *into)
{
	int i = new_slot(op->arg[1]);
	if (i < 0)
		return fail(a, E_BADOP, 0);
	pid_t pid;
	int fd = -1;
	if (into) {
		struct {
			uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
				set_tid_size, cgroup;
		} args = { 0 };
		fd = open(into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return fail(a, errno, S_OPEN);
		args.flags = 0x200000000ULL; /* CLONE_INTO_CGROUP */
		args.exit_signal = SIGCHLD;
		args.cgroup = fd;
		pid = syscall(SYS_clone3, &args, sizeof args);
	} else {
		pid = fork();
	}
	int err = errno;
	if (pid == 0)
		helper(i);
	if (fd >= 0)
		close(fd);
	if (pid < 0)
		return fail(a, err, 0);
	sh->slot[i].pid = sh->slot[i].tgid = pid;
	sh->used = i + 1;
	put_int(a, pid);
}

static void op_thread(struct op *op, struct answer *a)
{
	int i = new_slot(op->arg[1]);
	pthread_attr_t attr;
	pthread_t t;
	if (i < 0)
		return fail(a, E_BADOP, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 4 * 1024 * 1024);
	int err = pthread_create(&t, &attr, thread_main, (void *)(intptr_t)i);
	if (err)
		return fail(a, err, 0);
	for (int n = 0; n < 2000 && !*(volatile pid_t *)&sh->slot[i].pid; n++)
		nap(1000);
	sh->used = i + 1;
	put_int(a, sh->slot[i].pid);
}

static void drain(int fd)
{
	char c;
	while (recv(fd, &c, 1, MSG_DONTWAIT) == 1)
		;
}

static void op_in(struct op *op, struct answer *a)
{
	struct slot *s = find(op->arg[1]);
	if (!s)
		return fail(a, E_NOHELPER, 0);
	int i = s - sh->slot;
	s->op.n = op->n - 2;
	memcpy(s->op.arg, op->arg + 2, sizeof(char *) * (MAX_ARGS - 2));
	memcpy(s->op.len, op->len + 2, sizeof(uint32_t) * (MAX_ARGS - 2));
	if (dead(state_of(s->pid)))
		return fail(a, E_KILLED, 0);
	drain(pipes[i][0]);
	fail(&s->answer, E_KILLED, 0);
	write(pipes[i][0], "g", 1);
	if (!strcmp(op->arg[2], "exit")) {
		until_dead(s->pid, 1000);
		return ok(a);
	}
	for (int n = 0; n < 75; n++) {
		struct pollfd p = { pipes[i][0], POLLIN, 0 };
		if (poll(&p, 1, 20) == 1) {
			drain(pipes[i][0]);
			a->err = s->answer.err;
			a->step = s->answer.step;
			a->type = s->answer.type;
			a->len = s->answer.len;
			memcpy(a->data, s->answer.data, a->len);
			return;
		}
		if (dead(state_of(s->pid)))
			return fail(a, E_KILLED, 0);
	}
	fail(a, E_BLOCKED, 0);
}

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

static void op_write(struct op *op, struct answer *a)
{
	uint32_t len;
	int fd = open(op->arg[1], O_WRONLY | O_CLOEXEC);
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

static void op_as(struct answer *a, uid_t uid, gid_t gid)
{
	/* Raw calls: only this thread.  The saved uid stays 0, which is the way back. */
	syscall(SYS_setresuid, 0, 0, 0);
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, 0) < 0)
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

#define IS(x) (!strcmp(name, x))
static void do_op(struct op *op, struct answer *a)
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
		op_write(op, a);
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
	} else if (IS("inotify")) {
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
	else if (IS("umask"))
		put_int(a, umask(num(v[1])));
	else if (IS("as"))
		op_as(a, num(v[1]), num(v[2]));
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
	} else if (IS("settle"))
		nap(num(v[1]) * 1000);
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

/* ---------------------------------------------------------------- the runner */

static void emit(uint32_t index, uint32_t which, struct answer *a)
{
	uint32_t head[6] = { index, which, (uint32_t)a->err, a->step, a->type, a->len };
	uint64_t at = shm->out_used;
	if (at + sizeof head + a->len > shm->out_size)
		return;
	char *out = (char *)shm + shm->out + at;
	memcpy(out, head, sizeof head);
	memcpy(out + sizeof head, a->data, a->len);
	__sync_synchronize();
	shm->out_used = at + sizeof head + a->len;
	shm->progress++;
}

static void run_case(uint32_t index, char *p)
{
	static struct answer a;
	static struct op op;
	uint32_t n;
	memcpy(&n, p, 4);
	p += 4;
	prctl(PR_SET_NAME, "runner");
	umask(022);
	if (chdir(ROOT) < 0)
		_exit(3);
	snprintf(sh->slot[0].name, 32, "self");
	sh->slot[0].pid = sh->slot[0].tgid = getpid();
	sh->used = 1;
	put_int(&a, getpid());
	emit(index, END_OF_CASE - 1, &a);
	for (uint32_t i = 0; i < n; i++) {
		p = parse(p, &op);
		do_op(&op, &a);
		emit(index, i, &a);
	}
	_exit(0);
}

/* ---------------------------------------------------------------- pid 1: mounts, watching, cleaning */

static char hierarchies[24][40];
static int n_hierarchies;

struct root_file {
	char path[200];
	struct stat st;
	int readable, has_content;
	char content[1024];
	int len;
};
static struct root_file root_files[600];
static int n_root_files;
static struct stat root_dirs[24];

static void say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int r = write(fd, text, strlen(text));
	close(fd);
	return r < 0 ? -1 : 0;
}
static int get(const char *path, char *buf, int size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0, r;
	if (fd < 0)
		return -1;
	while (n < size - 1 && (r = read(fd, buf + n, size - 1 - n)) > 0)
		n += r;
	close(fd);
	buf[n] = 0;
	return n;
}

static void mount_layout(int layout)
{
	mkdir(ROOT, 0755);
	if (layout == 2) {
		if (mount("cgroup2", ROOT, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, "nsdelegate,memory_recursiveprot"))
			say("oracle: mount cgroup2: %s\n", strerror(errno));
		strcpy(hierarchies[n_hierarchies++], ROOT);
		/* Controllers that are on implicitly (perf_event) come to life with the first change of subtree_control,
		 * which on a running system was long ago. */
		put(ROOT "/cgroup.subtree_control", "+pids");
		put(ROOT "/cgroup.subtree_control", "-pids");
		return;
	}
	static const char *sets[] = { "systemd", "cpu,cpuacct", "memory", "pids", "cpuset", "devices", "freezer", "blkio",
				      "hugetlb", "net_cls,net_prio", "perf_event", "rdma", "misc", NULL };
	mount("tmpfs", ROOT, "tmpfs", 0, "mode=755");
	for (int i = 0; sets[i]; i++) {
		char path[80];
		snprintf(path, sizeof path, "%s/%s", ROOT, sets[i]);
		mkdir(path, 0755);
		const char *data = i ? sets[i] : "xattr,none,name=systemd";
		char with_xattr[80];
		snprintf(with_xattr, sizeof with_xattr, "xattr,%s", data);
		if (mount("cgroup", path, "cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, i ? with_xattr : data) < 0) {
			rmdir(path);
			continue;
		}
		snprintf(hierarchies[n_hierarchies++], 40, "%s", path);
	}
	char flag[80];
	snprintf(flag, sizeof flag, "%s/memory/memory.use_hierarchy", ROOT);
	put(flag, "1");
	symlink("cpu,cpuacct", ROOT "/cpu");
	symlink("cpu,cpuacct", ROOT "/cpuacct");
	symlink("net_cls,net_prio", ROOT "/net_cls");
	symlink("net_cls,net_prio", ROOT "/net_prio");
	mount(NULL, ROOT, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755");
}

static int resettable(const char *name)
{
	static const char *no[] = { "cgroup.procs", "cgroup.threads", "tasks", "usage", "failcnt", "pressure", "oom_control",
				    "reclaim", "devices.", "force_empty", "io.cost", "event_control", "reset_stats", NULL };
	if (!strcmp(name, "cgroup.pressure"))
		return 1;
	for (int i = 0; no[i]; i++)
		if (strstr(name, no[i]))
			return 0;
	return 1;
}

/* What the root cpuset reads when no partition has taken CPUs. */
static const char *cpuset_files[] = { "cpuset.cpus.effective", "cpuset.mems.effective", "cpuset.cpus.isolated" };
static char cpuset_at_first[3][64];

static void snapshot_roots(void)
{
	for (int i = 0; i < 3; i++) {
		char path[80];
		snprintf(path, sizeof path, "%s/%s", ROOT, cpuset_files[i]);
		get(path, cpuset_at_first[i], sizeof cpuset_at_first[i]);
	}
	for (int h = 0; h < n_hierarchies; h++) {
		lstat(hierarchies[h], &root_dirs[h]);
		DIR *d = opendir(hierarchies[h]);
		struct dirent *e;
		while (d && (e = readdir(d))) {
			if (e->d_type != DT_REG || n_root_files >= 600)
				continue;
			struct root_file *f = &root_files[n_root_files++];
			snprintf(f->path, sizeof f->path, "%s/%s", hierarchies[h], e->d_name);
			lstat(f->path, &f->st);
			if ((f->st.st_mode & 0600) == 0600 && resettable(e->d_name)) {
				f->len = get(f->path, f->content, sizeof f->content);
				f->has_content = f->len >= 0 && f->len < (int)sizeof f->content - 1;
			}
		}
		if (d)
			closedir(d);
	}
}

/* Lines that start with a device number or an interface: written back one by one with a value that clears them. */
static void clear_lines(const char *path, const char *text, const char *value)
{
	char line[200];
	while (*text) {
		size_t n = strcspn(text, " \n");
		if (n > 0 && n < 60) {
			snprintf(line, sizeof line, "%.*s%s", (int)n, text, value);
			put(path, line);
		}
		text += strcspn(text, "\n");
		if (*text)
			text++;
	}
}

static void drop_xattrs(const char *path)
{
	char names[4096];
	ssize_t n = llistxattr(path, names, sizeof names);
	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		lremovexattr(path, p);
}

static void reset_stat(const char *path, struct stat *was)
{
	struct stat now;
	if (lstat(path, &now) < 0)
		return;
	if (now.st_uid != was->st_uid || now.st_gid != was->st_gid)
		lchown(path, was->st_uid, was->st_gid);
	if (now.st_mode != was->st_mode)
		chmod(path, was->st_mode & 07777);
}

/* Partitions give their CPUs back a little later; some kernels forget to. */
static int cpuset_is_whole(void)
{
	for (int round = 0; round < 50; round++) {
		int same = 1;
		for (int i = 0; i < 3; i++) {
			char path[80], now[64] = "";
			snprintf(path, sizeof path, "%s/%s", ROOT, cpuset_files[i]);
			get(path, now, sizeof now);
			same &= !strcmp(now, cpuset_at_first[i]);
		}
		if (same)
			return 1;
		nap(4000);
	}
	return 0;
}

static int reset_roots(void)
{
	char buf[4096];
	int spoilt = 0; /* by what only a boot takes away */
	if (shm->layout == 2) {
		if (get(ROOT "/cgroup.subtree_control", buf, sizeof buf) > 1)
			for (char *t = strtok(buf, " \n"); t; t = strtok(NULL, " \n")) {
				char off[64];
				snprintf(off, sizeof off, "-%s", t);
				put(ROOT "/cgroup.subtree_control", off);
			}
		/* io.cost, once set up for a device, shows it for good: only a boot takes that away. */
		if (get(ROOT "/io.cost.qos", buf, sizeof buf) > 0 || get(ROOT "/io.cost.model", buf, sizeof buf) > 0)
			spoilt = 1;
		if (!cpuset_is_whole()) {
			say("oracle: CPUs are missing after a case\n");
			spoilt = 1;
		}
	}
	for (int h = 0; h < n_hierarchies; h++) {
		reset_stat(hierarchies[h], &root_dirs[h]);
		drop_xattrs(hierarchies[h]);
	}
	int bad = spoilt;
	for (int i = 0; i < n_root_files; i++) {
		struct root_file *f = &root_files[i];
		const char *name = strrchr(f->path, '/') + 1;
		reset_stat(f->path, &f->st);
		drop_xattrs(f->path);
		if (!strcmp(name, "devices.list") && get(f->path, buf, sizeof buf) >= 0 && strcmp(buf, "a *:* rwm\n")) {
			snprintf(buf, sizeof buf, "%.*sdevices.allow", (int)(name - f->path), f->path);
			bad |= put(buf, "a");
		}
		if (!f->has_content)
			continue;
		int n = get(f->path, buf, sizeof buf);
		if (n == f->len && !memcmp(buf, f->content, n))
			continue;
		if (strstr(name, "blkio.throttle"))
			clear_lines(f->path, buf, " 0");
		else if (strstr(name, "ifpriomap"))
			clear_lines(f->path, f->content, " 0");
		else
			put(f->path, f->len ? f->content : "\n");
		n = get(f->path, buf, sizeof buf);
		if (n != f->len || memcmp(buf, f->content, n)) {
			say("oracle: cannot reset %s: %.60s\n", f->path, buf);
			bad = 1;
		}
	}
	return bad;
}

static void thaw(const char *path)
{
	char sub[4096];
	DIR *d;
	struct dirent *e;
	snprintf(sub, sizeof sub, "%s/freezer.state", path);
	put(sub, "THAWED");
	if (!(d = opendir(path)))
		return;
	while ((e = readdir(d)))
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			snprintf(sub, sizeof sub, "%s/%s", path, e->d_name);
			thaw(sub);
		}
	closedir(d);
}

static void kill_others(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);
		char path[64], exe[64];
		if (pid <= 1)
			continue;
		snprintf(path, sizeof path, "/proc/%d/exe", pid);
		if (readlink(path, exe, sizeof exe) > 0)
			kill(pid, SIGKILL);
	}
	if (d)
		closedir(d);
}

static int reap_all(void)
{
	for (int i = 1; i < sh->used; i++)
		if (sh->slot[i].tgid > 1)
			kill(sh->slot[i].tgid, SIGKILL);
	for (int round = 0; round < 1500; round++) {
		pid_t r;
		while ((r = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (r < 0 && errno == ECHILD)
			return 0;
		if (round >= 10 && round % 50 == 10) {
			if (shm->layout == 1)
				thaw(ROOT "/freezer");
			kill_others();
		}
		nap(2000);
	}
	return -1;
}

/* Removes what is below a directory; paths may be longer than PATH_MAX, so it walks with descriptors. */
static int remove_below(int at)
{
	DIR *d;
	struct dirent *e;
	int bad = 0, fd = dup(at);
	if (fd < 0 || !(d = fdopendir(fd)))
		return -1;
	rewinddir(d);
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		int sub = openat(at, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (sub >= 0) {
			bad |= remove_below(sub);
			close(sub);
		}
		if (unlinkat(at, e->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			bad = -1;
	}
	closedir(d);
	return bad;
}

static int remove_all(void)
{
	int bad = 0, removed = 0;
	for (int h = 0; h < n_hierarchies; h++) {
		struct stat st;
		if (lstat(hierarchies[h], &st) == 0 && st.st_nlink <= 2)
			continue;
		removed = 1;
		int done = 0, fd = open(hierarchies[h], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (int round = 0; round < 500 && !done; round++) {
			done = remove_below(fd) == 0;
			if (!done)
				nap(4000);
		}
		close(fd);
		if (!done) {
			say("oracle: cannot empty %s\n", hierarchies[h]);
			bad = 1;
		}
	}
	if (removed) /* removed cgroups go offline after a grace period; later cases should not see them */
		for (int i = 0; i < 2; i++)
			syscall(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0);
	return bad;
}

static int offline_lag(void)
{
	char buf[2048];
	for (int round = 0; round < 200; round++) {
		if (shm->layout == 2) {
			if (get(ROOT "/cgroup.stat", buf, sizeof buf) < 0)
				return 0;
			char *p = strstr(buf, "nr_dying_descendants ");
			if (!p || !strncmp(p + 21, "0\n", 2))
				return 0;
		} else {
			/* /proc/cgroups counts cgroups, dying ones too; one per hierarchy is its root */
			int n = get("/proc/cgroups", buf, sizeof buf), busy = 0;
			char *line = n > 0 ? strchr(buf, '\n') : NULL;
			for (; line && line[1]; line = strchr(line + 1, '\n')) {
				char name[40];
				int id, count;
				if (sscanf(line + 1, "%39s %d %d", name, &id, &count) == 3 && id && count > 1)
					busy = 1;
			}
			if (!busy)
				return 0;
		}
		nap(2000);
	}
	return 0;
}

static void *map_device(void)
{
	DIR *d = opendir("/sys/bus/pci/devices");
	struct dirent *e;
	char path[400], id[32];
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", e->d_name);
		if (get(path, id, sizeof id) < 0 || strncmp(id, "0x1af4", 6))
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", e->d_name);
		if (get(path, id, sizeof id) < 0 || strncmp(id, "0x1110", 6))
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/enable", e->d_name);
		put(path, "1");
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/resource2", e->d_name);
		int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
		struct stat st;
		if (fd < 0 || fstat(fd, &st) < 0)
			return NULL;
		void *p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	return NULL;
}

static void stop(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void load_modules(void)
{
	/* Anything the host put into /modules, in name order. */
	char path[300];
	struct dirent **list;
	int n = scandir("/modules", &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/modules/%s", list[i]->d_name);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (syscall(SYS_finit_module, fd, "", 0) < 0)
			say("oracle: %s: %s\n", path, strerror(errno));
		close(fd);
	}
}

int main(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	put("/proc/sys/kernel/pid_max", "4194304");
	put("/proc/sys/kernel/printk", "1");
	load_modules();
	shm = map_device();
	if (!shm || shm->magic != MAGIC) {
		say("oracle: no shared memory\n");
		stop();
	}
	for (int i = 0; i < SLOTS; i++)
		socketpair(AF_UNIX, SOCK_STREAM, 0, pipes[i]);
	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(sh, 1, sizeof *sh); /* touched here, so charged to the root and not to a case's cgroup */
	memset(sh, 0, sizeof *sh);
	mount_layout(shm->layout);
	snapshot_roots();
	shm->state = RUNNING;

	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);

	char *p = (char *)shm + shm->in;
	for (uint32_t i = 0; i < shm->cases; i++) {
		uint32_t size;
		memcpy(&size, p, 4);
		char *body = p + 4;
		p = body + size;
		if (i < shm->first)
			continue;
		shm->current = i;
		sh->used = 0;
		memset(handles, 0, sizeof handles);
		for (int s = 0; s < SLOTS; s++)
			for (int e = 0; e < 2; e++)
				drain(pipes[s][e]);
		pid_t pid = fork();
		if (pid == 0) {
			sigprocmask(SIG_UNBLOCK, &set, NULL);
			run_case(i, body);
		}
		int status = 0, verdict = CASE_OK, idle = 0;
		uint64_t seen = shm->progress;
		for (;;) {
			if (waitpid(pid, &status, WNOHANG) == pid) {
				if (!WIFEXITED(status) || WEXITSTATUS(status))
					verdict = CASE_LOST;
				break;
			}
			struct timespec t = { 0, 100000000 };
			if (sigtimedwait(&set, NULL, &t) < 0 && shm->progress == seen)
				idle++;
			else
				idle = 0;
			seen = shm->progress;
			if (idle > 80) {
				verdict = CASE_HANG;
				kill(pid, SIGKILL);
				break;
			}
		}
		int bad = reap_all() || remove_all();
		static struct answer end;
		put_int(&end, verdict);
		emit(i, END_OF_CASE, &end);
		bad = bad || reset_roots();
		if (bad) {
			shm->current = i + 1;
			shm->state = DIRTY;
			stop();
		}
		offline_lag();
	}
	shm->state = DONE;
	stop();
}
