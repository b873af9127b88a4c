/* Helper processes and threads, the files they hold open, and operations done in one of them. */
#define _GNU_SOURCE
#include "guest.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct shared *sh;
int pipes[SLOTS][2];
struct handle handles[64];

struct slot *find(const char *name)
{
	for (int i = sh->used - 1; i >= 0; i--)
		if (!strcmp(sh->slot[i].name, name))
			return &sh->slot[i];
	return NULL;
}

/* Data to write: "$name" becomes the pid of that process, or the number of the file open under that name; "$agent" the
 * path of the release agent that notes its runs. */
char *expand(const char *in, uint32_t len, uint32_t *out_len)
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
			if (!s && fd < 0 && !strcmp(name, "agent") && o < len + 4000) {
				o += sprintf(buf + o, "%s", AGENT);
				i = j;
				continue;
			}
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

struct handle *handle(const char *name)
{
	for (int i = 0; i < 64; i++)
		if (handles[i].name[0] && !strcmp(handles[i].name, name))
			return &handles[i];
	return NULL;
}
int handle_fd(const char *name)
{
	struct handle *h = handle(name);
	return h ? h->fd : -1;
}
void keep(const char *name, int fd)
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

void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	nanosleep(&t, NULL);
}

/* The state letter of a process or thread; 0 when it is gone. */
int state_of(pid_t pid)
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
int dead(int state) { return state == 0 || state == 'Z' || state == 'X'; }
void until_dead(pid_t pid, int ms)
{
	for (int i = 0; i < ms && !dead(state_of(pid)); i++)
		nap(1000);
	nap(3000); /* a cgroup hears of the death a little after /proc shows it */
}

void helper(int slot)
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

void op_fork(struct op *op, struct answer *a, const char *into)
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

void op_thread(struct op *op, struct answer *a)
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

void drain(int fd)
{
	char c;
	while (recv(fd, &c, 1, MSG_DONTWAIT) == 1)
		;
}

void op_in(struct op *op, struct answer *a)
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
	int rounds = strcmp(op->arg[2], "alloc") ? 75 : 250; /* of 20 ms; to swap out takes a while */
	for (int n = 0; n < rounds; n++) {
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
