/* Issues system calls on one cgroup directory and times them.
 *
 *   client DIRECTORY FILE VALUE
 *
 * Reads lines "OPERATION COUNT" and answers each with the nanoseconds that COUNT operations took, without what was
 * made ready before and tidied up after. `nothing` is its own loop. A system call that fails ends it, with one line.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char directory[PATH_MAX], file[2 * PATH_MAX], child[2 * PATH_MAX];
static const char *value;
static size_t value_length;
static char buffer[4096];
static int fd;

static long long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void check(long result, const char *call, const char *path)
{
	if (result < 0) {
		fprintf(stderr, "%s %s: %s\n", call, path, strerror(errno));
		exit(1);
	}
}

static const char *name_child(int number)
{
	snprintf(child, sizeof child, "%s/c%d", directory, number);
	return child;
}

static void do_nothing(int number) { (void)number; }
static void do_mkdir(int number) { check(mkdir(name_child(number), 0755), "mkdir", child); }
static void do_rmdir(int number) { check(rmdir(name_child(number)), "rmdir", child); }
static void do_pwrite(int number) { (void)number; check(pwrite(fd, value, value_length, 0), "pwrite", file); }
static void do_pread(int number) { (void)number; check(pread(fd, buffer, sizeof buffer, 0), "pread", file); }

static void do_write(int number)
{
	(void)number;
	check(fd = open(file, O_WRONLY), "open", file);
	check(write(fd, value, value_length), "write", file);
	check(close(fd), "close", file);
}

static void do_read(int number)
{
	(void)number;
	check(fd = open(file, O_RDONLY), "open", file);
	check(read(fd, buffer, sizeof buffer), "read", file);
	check(close(fd), "close", file);
}

static void do_stat(int number)
{
	struct stat st;
	(void)number;
	check(stat(file, &st), "stat", file);
}

static void do_listdir(int number)
{
	DIR *listing = opendir(directory);
	(void)number;
	check(listing ? 0 : -1, "opendir", directory);
	while (readdir(listing))
		;
	closedir(listing);
}

/* An operation, what to do for each one before, and after, and how to open the file if it works on an open one. */
static const struct {
	const char *name;
	void (*timed)(int), (*before)(int), (*after)(int);
	int opened;
} OPERATIONS[] = {
	{ "nothing", do_nothing, NULL, NULL, -1 },
	{ "mkdir", do_mkdir, NULL, do_rmdir, -1 },
	{ "write", do_write, NULL, NULL, -1 },
	{ "read", do_read, NULL, NULL, -1 },
	{ "pwrite", do_pwrite, NULL, NULL, O_WRONLY },
	{ "pread", do_pread, NULL, NULL, O_RDONLY },
	{ "stat", do_stat, NULL, NULL, -1 },
	{ "listdir", do_listdir, NULL, NULL, -1 },
	{ "rmdir", do_rmdir, do_mkdir, NULL, -1 },
};
#define OPERATION_COUNT (sizeof OPERATIONS / sizeof *OPERATIONS)

static void each(void (*call)(int), int count)
{
	for (int number = 0; call && number < count; number++)
		call(number);
}

int main(int argc, char **argv)
{
	char name[16];
	int count;

	if (argc != 4) {
		fprintf(stderr, "usage: %s DIRECTORY FILE VALUE\n", argv[0]);
		return 2;
	}
	snprintf(directory, sizeof directory, "%s", argv[1]);
	snprintf(file, sizeof file, "%s/%s", argv[1], argv[2]);
	value = argv[3];
	value_length = strlen(value);
	while (scanf("%15s %d", name, &count) == 2) {
		size_t at = 0;
		long long begin, end;
		while (at < OPERATION_COUNT && strcmp(OPERATIONS[at].name, name))
			at++;
		if (at == OPERATION_COUNT) {
			fprintf(stderr, "no operation %s\n", name);
			return 2;
		}
		if (OPERATIONS[at].opened >= 0)
			check(fd = open(file, OPERATIONS[at].opened), "open", file);
		each(OPERATIONS[at].before, count);
		begin = now();
		each(OPERATIONS[at].timed, count);
		end = now();
		each(OPERATIONS[at].after, count);
		if (OPERATIONS[at].opened >= 0)
			close(fd);
		printf("%lld\n", end - begin);
		fflush(stdout);
	}
	return 0;
}
