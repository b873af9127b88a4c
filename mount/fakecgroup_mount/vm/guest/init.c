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
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct header *shm;

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
			if (shm->layout != V2)
				thaw(ROOT "/freezer");
			kill_others();
		}
		nap(2000);
	}
	return -1;
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

/* Swaps on the disk that has the header; which of the two it is depends on who was found first. */
static int swap_on(void)
{
	for (int round = 0; round < 500; round++) {
		if (!swapon("/dev/nvme0n1", 0) || !swapon("/dev/nvme1n1", 0))
			return 0;
		nap(10000);
	}
	return -1;
}

static void stop(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (getpid() != 1)
		return agent(argc, argv);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	put("/proc/sys/kernel/pid_max", "4194304");
	put("/proc/sys/kernel/printk", "1");
	shm = map_device();
	if (!shm || shm->magic != MAGIC) {
		say("oracle: no shared memory\n");
		stop();
	}
	load_driver("nvme");
	if (getenv("ORACLE_SWAP") && swap_on() < 0) {
		say("oracle: no disk to swap on: %s\n", strerror(errno));
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
		disarm();
		bring_cpus_back();
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
