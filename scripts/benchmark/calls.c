/* Issues calls that `fakecgroup run` traps, and says how long one takes.
 *
 *   calls CALL COUNT [let|read]
 *
 * CALL is `open` of a path that is not there, or `fork` of a child that is killed at once. Prints the median of COUNT
 * in ns. With `let`, a seccomp supervisor lets each call go on and does nothing else; with `read` it reads the path
 * before. These are the least that any supervisor costs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1
#endif

static const char path[] = "/nowhere/to/be/found";

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static long long timed_open(void)
{
	long long began = now();
	if (open(path, O_RDONLY) >= 0)
		fail(path);
	return now() - began;
}

static long long timed_fork(void)
{
	long long began = now(), took;
	pid_t child = fork();
	if (!child)
		for (;;)
			pause();
	took = now() - began;
	if (child < 0)
		fail("fork");
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) < 0)
		fail("waitpid");
	return took;
}

static int by_size(const void *left, const void *right)
{
	long long one = *(const long long *)left, other = *(const long long *)right;
	return (one > other) - (one < other);
}

static void measure(const char *call, int count)
{
	long long *times = calloc(count, sizeof *times);
	int number;
	if (!times)
		fail("calloc");
	for (number = 0; number < count; number++)
		times[number] = strcmp(call, "fork") ? timed_open() : timed_fork();
	qsort(times, count, sizeof *times, by_size);
	printf("%lld\n", times[count / 2]);
	fflush(stdout);
}

/* A listener for the calls that are measured. */
static int filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };
	int listener;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("PR_SET_NO_NEW_PRIVS");
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		fail("seccomp");
	return listener;
}

/* Sends a descriptor, or receives one. Ends if the other side has failed, which has said why. */
static void hand_over(int socket, int fd, int *received)
{
	union {
		char space[CMSG_SPACE(sizeof fd)];
		struct cmsghdr aligned;
	} control = { .space = { 0 } };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof control };
	struct cmsghdr *head;
	if (received) {
		if (recvmsg(socket, &message, 0) != 1 || !(head = CMSG_FIRSTHDR(&message)))
			exit(1);
		memcpy(received, CMSG_DATA(head), sizeof fd);
		return;
	}
	head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(head), &fd, sizeof fd);
	if (sendmsg(socket, &message, 0) != 1)
		fail("sendmsg");
}

/* Lets every call go on, until no caller is left. */
static void supervise(int listener, int reads)
{
	static char text[256];
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP); /* before 6.6 there is none */
	for (;;) {
		struct seccomp_notif taken;
		struct seccomp_notif_resp answer;
		memset(&taken, 0, sizeof taken);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &taken)) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (reads && taken.data.nr == __NR_openat) {
			struct iovec here = { text, sizeof text }, there = { (void *)taken.data.args[1], sizeof text };
			process_vm_readv(taken.pid, &here, 1, &there, 1, 0);
		}
		memset(&answer, 0, sizeof answer);
		answer.id = taken.id;
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) && errno != ENOENT)
			fail("SECCOMP_IOCTL_NOTIF_SEND");
	}
}

int main(int argc, char **argv)
{
	int sockets[2], count, listener, status;
	pid_t caller;
	if (argc < 3 || (count = atoi(argv[2])) < 1) {
		fprintf(stderr, "usage: calls open|fork COUNT [let|read]\n");
		return 2;
	}
	if (argc == 3) {
		measure(argv[1], count);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		fail("socketpair");
	caller = fork();
	if (caller < 0)
		fail("fork");
	if (!caller) {
		listener = filtered();
		hand_over(sockets[1], listener, NULL);
		close(listener);
		measure(argv[1], count);
		return 0;
	}
	close(sockets[1]);
	hand_over(sockets[0], -1, &listener);
	supervise(listener, !strcmp(argv[3], "read"));
	if (waitpid(caller, &status, 0) < 0)
		fail("waitpid");
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
