/* The mounted layout: made at boot, emptied and put back to its first state after each case. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static char hierarchies[24][40];
static int n_hierarchies;
static const char *unified; /* where the unified hierarchy is mounted, if it is */

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
static struct stat top; /* the tmpfs that holds the hierarchies of v1 */

void say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int r = write(fd, text, strlen(text));
	close(fd);
	return r < 0 ? -1 : 0;
}
int get(const char *path, char *buf, int size)
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

/* A file of the unified hierarchy's root. */
static const char *in_unified(const char *file)
{
	static char path[100];
	snprintf(path, sizeof path, "%s/%s", unified, file);
	return path;
}

static void mount_unified(const char *at)
{
	unified = at;
	mkdir(at, 0755);
	if (mount("cgroup2", at, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, "nsdelegate,memory_recursiveprot"))
		say("oracle: mount cgroup2: %s\n", strerror(errno));
	strcpy(hierarchies[n_hierarchies++], at);
	/* Controllers that are on implicitly (perf_event) come to life with the first change of subtree_control,
	 * which on a running system was long ago. */
	put(in_unified("cgroup.subtree_control"), "+pids");
	put(in_unified("cgroup.subtree_control"), "-pids");
}

void mount_layout(int layout)
{
	mkdir(ROOT, 0755);
	if (layout == V2) {
		mount_unified(ROOT);
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
	if (layout == HYBRID)
		mount_unified(ROOT "/unified");
	mount(NULL, ROOT, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755");
}

/* The end of a case empties cgroups, which is nobody's business. */
void disarm(void)
{
	char path[80], text[8];
	int armed = 0;
	for (int h = 0; h < n_hierarchies; h++) {
		snprintf(path, sizeof path, "%s/release_agent", hierarchies[h]);
		if (get(path, text, sizeof text) > 1) {
			put(path, "\n");
			armed = 1;
		}
	}
	if (!armed)
		return;
	nap(100000); /* agents that are being started */
	forget_releases();
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

void snapshot_roots(void)
{
	lstat(ROOT, &top);
	for (int i = 0; unified && i < 3; i++)
		get(in_unified(cpuset_files[i]), cpuset_at_first[i], sizeof cpuset_at_first[i]);
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
			char now[64] = "";
			get(in_unified(cpuset_files[i]), now, sizeof now);
			same &= !strcmp(now, cpuset_at_first[i]);
		}
		if (same)
			return 1;
		nap(4000);
	}
	return 0;
}

/* Brings the CPUs back that a case has taken offline. */
void bring_cpus_back(void)
{
	char offline[64], path[100];
	if (get(CPUS "/offline", offline, sizeof offline) <= 1)
		return;
	for (int cpu = 0; cpu < 64; cpu++) {
		snprintf(path, sizeof path, CPUS "/cpu%d/online", cpu);
		put(path, "1");
	}
	nap(60000); /* v1's root hears of it later */
}

int reset_roots(void)
{
	char buf[4096];
	int spoilt = 0; /* by what only a boot takes away */
	if (unified) {
		if (get(in_unified("cgroup.subtree_control"), buf, sizeof buf) > 1)
			for (char *t = strtok(buf, " \n"); t; t = strtok(NULL, " \n")) {
				char off[64];
				snprintf(off, sizeof off, "-%s", t);
				put(in_unified("cgroup.subtree_control"), off);
			}
		/* io.cost, once set up for a device, shows it for good: only a boot takes that away. */
		if (get(in_unified("io.cost.qos"), buf, sizeof buf) > 0 ||
		    get(in_unified("io.cost.model"), buf, sizeof buf) > 0)
			spoilt = 1;
		if (!cpuset_is_whole()) {
			say("oracle: CPUs are missing after a case\n");
			spoilt = 1;
		}
	}
	struct stat now;
	if (shm->layout != V2 && (lstat(ROOT, &now) < 0 || now.st_size != top.st_size || now.st_mode != top.st_mode)) {
		say("oracle: a case changed the directory above the hierarchies\n");
		spoilt = 1;
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

void thaw(const char *path)
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

int remove_all(void)
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

/* Waits until what was removed is offline too: v1 rules and v2 counts still see it until then. */
void offline_lag(void)
{
	char buf[2048];
	for (int round = 0; round < 200; round++) {
		int busy = 0;
		if (unified && get(in_unified("cgroup.stat"), buf, sizeof buf) > 0) {
			char *p = strstr(buf, "nr_dying_descendants ");
			busy |= p && strncmp(p + 21, "0\n", 2);
		}
		if (shm->layout != V2) {
			/* /proc/cgroups counts cgroups, dying ones too; one per hierarchy is its root */
			int n = get("/proc/cgroups", buf, sizeof buf);
			char *line = n > 0 ? strchr(buf, '\n') : NULL;
			for (; line && line[1]; line = strchr(line + 1, '\n')) {
				char name[40];
				int id, count;
				if (sscanf(line + 1, "%39s %d %d", name, &id, &count) == 3 && id && count > 1)
					busy = 1;
			}
		}
		if (!busy)
			return;
		nap(2000);
	}
}
