/* Drivers that are modules of the initrd: loaded as depmod(8) has listed them in modules.dep. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COMPRESSED_FILE 4 /* MODULE_INIT_COMPRESSED_FILE, since 5.17 */
#define DISKS 2

static char directory[200];

static int ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);
	return n >= m && !strcmp(text + n - m, with);
}

/* Whether a line of modules.dep is about a module. */
static int is_about(const char *line, const char *name)
{
	const char *colon = strchr(line, ':'), *base = line;
	if (!colon)
		return 0;
	for (const char *p = line; p < colon; p++)
		if (*p == '/')
			base = p + 1;
	size_t n = strlen(name);
	return !strncmp(base, name, n) && !strncmp(base + n, ".ko", 3);
}

static void load(const char *file)
{
	char path[500];
	snprintf(path, sizeof path, "%s/%s", *file == '/' ? "" : directory, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", ends(path, ".ko") ? 0 : COMPRESSED_FILE) < 0 && errno != EEXIST))
		say("oracle: cannot load %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* The modules that it needs stand after it, each before those that it needs itself. */
static void load_line(char *line)
{
	char *words[64];
	int n = 0;
	for (char *word = strtok(line, ": \n"); word && n < 64; word = strtok(NULL, ": \n"))
		words[n++] = word;
	while (n)
		load(words[--n]);
}

/* Loads a PCI driver if the kernel does not have it yet, and waits for its disks. */
void load_driver(const char *name)
{
	static char line[8192];
	char path[300];
	struct stat st;
	struct utsname about;
	snprintf(path, sizeof path, "/sys/bus/pci/drivers/%s", name);
	if (stat(path, &st) < 0) {
		uname(&about);
		snprintf(directory, sizeof directory, "/lib/modules/%s", about.release);
		snprintf(path, sizeof path, "%s/modules.dep", directory);
		FILE *file = fopen(path, "re");
		while (file && fgets(line, sizeof line, file))
			if (is_about(line, name)) {
				load_line(line);
				break;
			}
		if (file)
			fclose(file);
		snprintf(path, sizeof path, "/sys/bus/pci/drivers/%s", name);
		if (stat(path, &st) < 0)
			return;
	}
	for (int round = 0; round < 500; round++) {
		int there = 0;
		for (int disk = 0; disk < DISKS; disk++) {
			snprintf(path, sizeof path, "/sys/block/%s%dn1", name, disk);
			there += !stat(path, &st);
		}
		if (there == DISKS)
			return;
		nap(10000);
	}
}
