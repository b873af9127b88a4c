/*
 * What a machine has for all scenarios:
 *
 * unified OPTIONS            the hierarchy of v2 at the root
 * hierarchies                v1's hierarchies follow, each in a directory of the root
 * hierarchy CONTROLLERS      in a directory of this name, if the kernel has them
 * link NAME DIRECTORY
 * swap BYTES                 of the third disk
 * huge-pages COUNT           of 2 MiB
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#define SWAP_DISK "/dev/nvme2n1"
#define SWAP_PAGE 4096

/* The first page of a swap device (union swap_header). */
static void swap_on(long long bytes)
{
	static struct {
		char boot[1024];
		uint32_t version, last_page, bad_pages;
		char rest[SWAP_PAGE - 1024 - 12 - 10], magic[10];
	} __attribute__((packed)) header;
	header.version = 1;
	header.last_page = bytes / SWAP_PAGE - 1;
	memcpy(header.magic, "SWAPSPACE2", 10);
	int disk = open(SWAP_DISK, O_WRONLY);
	if (disk < 0 || write(disk, &header, sizeof header) != sizeof header || fsync(disk) || close(disk) ||
	    swapon(SWAP_DISK, 0))
		say("refused swap: %s\n", strerror(errno));
}

static void huge_pages(const char *count)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", "w");
	if (!file || fprintf(file, "%s\n", count) < 0 || fclose(file))
		say("refused huge pages: %s\n", strerror(errno));
}

/* As systemd does; before 5.11 limits are not those of groups below otherwise. */
static void use_hierarchy(const char *hierarchy)
{
	char path[400];
	snprintf(path, sizeof path, "%s/memory.use_hierarchy", hierarchy);
	int file = open(path, O_WRONLY);
	if (file < 0)
		return; /* another controller's */
	write(file, "1", 1);
	close(file);
}

void set_up(const char *line)
{
	char word[20], first[100] = "", second[100] = "", path[300];
	sscanf(line, "%19s %99s %99s", word, first, second);
	snprintf(path, sizeof path, "%s/%s", root, first);
	if (!strcmp(word, "unified")) {
		if (mount("cgroup2", root, "cgroup2", 0, first))
			say("refused mount: %s\n", strerror(errno));
	} else if (!strcmp(word, "hierarchies"))
		mount("tmpfs", root, "tmpfs", 0, NULL);
	else if (!strcmp(word, "hierarchy")) {
		mkdir(path, 0755);
		mount("cgroup", path, "cgroup", 0, first);
		use_hierarchy(path);
	} else if (!strcmp(word, "link"))
		symlink(second, path);
	else if (!strcmp(word, "swap"))
		swap_on(strtoll(first, NULL, 10));
	else if (!strcmp(word, "huge-pages"))
		huge_pages(first);
}
