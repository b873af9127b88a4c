/* Memory, page cache and transfers of a task. */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAGE 4096LL
#define HUGE_PAGE (2LL << 20)
#define MOST (4LL << 30) /* bytes of addresses, of which none is charged before it is touched */
#define FILE_BLOCK (64 << 10)
#define FILE_PART (256LL << 20)

static char *memory;
static int64_t held;

int64_t held_memory(void)
{
	return held;
}

void hold_memory(int64_t bytes)
{
	bytes = bytes / PAGE * PAGE;
	if (!memory) {
		memory = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		madvise(memory, MOST, MADV_NOHUGEPAGE);
	}
	if (bytes < held)
		madvise(memory + bytes, held - bytes, MADV_DONTNEED);
	for (; held < bytes; held += PAGE)
		memory[held] = 1;
	held = bytes;
}

/* Clean page cache: what was read from a part of the second disk that is this process's own. It is kept while the disk
 * is open. */
void hold_file(int64_t bytes)
{
	static char block[FILE_BLOCK];
	static int64_t size;
	static int file = -1;
	if (file < 0)
		file = open("/dev/nvme1n1", O_RDONLY);
	for (; size < bytes; size += FILE_BLOCK)
		if (pread(file, block, FILE_BLOCK, getpid() % MAX_TASKS * FILE_PART + size) <= 0)
			break;
}

/* Touches more huge pages, unless it may not reserve them. */
void hold_huge_pages(int64_t bytes)
{
	static int64_t size;
	if (bytes <= size)
		return;
	char *more = mmap(NULL, bytes - size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (more == MAP_FAILED)
		return;
	for (; size < bytes; size += HUGE_PAGE, more += HUGE_PAGE)
		*more = 1;
}

/* Reads or writes blocks, each followed by the sleep that makes the rate if nothing holds it up. */
void transfer(const struct phase *phase, int64_t until)
{
	int reads = phase->io_read > 0;
	int64_t rate = reads ? phase->io_read : phase->io_write, at = 0;
	char name[40];
	snprintf(name, sizeof name, "/disk-%d:%d", phase->disk[0], phase->disk[1]);
	mknod(name, S_IFBLK | 0600, makedev(phase->disk[0], phase->disk[1]));
	int file = open(name, (reads ? O_RDONLY : O_WRONLY) | O_DIRECT);
	char *block = aligned_alloc(PAGE, phase->block);
	memset(block, 0, phase->block);
	while (now_ns() < until) {
		ssize_t n = reads ? pread(file, block, phase->block, at) : pwrite(file, block, phase->block, at);
		if (n <= 0)
			break;
		at = (at + n) % (32 << 20);
		int64_t next = now_ns() + (int64_t)(n * 1e9 / rate);
		sleep_until(next < until ? next : until);
	}
	free(block);
	close(file);
	sleep_until(until);
}
