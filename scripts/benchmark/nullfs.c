/* The null file system: what the fake is measured against.
 *
 *   nullfs [--cached] MOUNTPOINT NAME...
 *
 * As little as a FUSE file system can do and still be walked, read, written and listed, in C on libfuse's low-level
 * interface with its single-threaded loop. Every directory holds a file for each NAME and the directories made in it.
 * A file reads "max\n" whatever is written to it. As in the fake's native transport nothing is cached (entry and
 * attribute timeouts are 0), files are opened with direct I/O, directories are opened, and FLUSH is sent only once.
 * With --cached the kernel keeps all names, attributes and lists of directories for ever, as nothing here changes by
 * itself. It ends, unmounted, on SIGTERM.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRIDE 512 /* node numbers per directory: its own, then one per file */
#define BUCKETS 65536
static const char CONTENT[] = "max\n";

struct directory {
	unsigned number, parent;
	struct directory *same_hash, *children, *next, **link; /* link: what points here in the parent's list */
	char name[];
};

static double timeout; /* seconds for which the kernel keeps names and attributes */
static char **names;   /* of the files, sorted */
static int name_count;
static struct directory **directories, *buckets[BUCKETS];
static unsigned directory_count, directory_room;

static fuse_ino_t node_of(unsigned directory) { return FUSE_ROOT_ID + (fuse_ino_t)directory * STRIDE; }
static unsigned directory_of(fuse_ino_t node) { return (node - FUSE_ROOT_ID) / STRIDE; }
static int is_directory(fuse_ino_t node) { return (node - FUSE_ROOT_ID) % STRIDE == 0; }

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static struct directory **bucket(unsigned parent, const char *name)
{
	unsigned hash = parent * 2654435761u + 2166136261u;
	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return &buckets[(hash ^ hash >> 16) % BUCKETS];
}

/* Where the directory is chained, or the end of the chain. */
static struct directory **find_directory(unsigned parent, const char *name)
{
	struct directory **at = bucket(parent, name);
	while (*at && ((*at)->parent != parent || strcmp((*at)->name, name)))
		at = &(*at)->same_hash;
	return at;
}

static struct directory *make_directory(unsigned parent, const char *name)
{
	struct directory *made = calloc(1, sizeof *made + strlen(name) + 1);
	if (made && directory_count == directory_room) {
		unsigned room = directory_room ? directory_room * 2 : 1024;
		struct directory **moved = realloc(directories, room * sizeof *moved);
		if (moved) {
			directories = moved;
			directory_room = room;
		}
	}
	if (!made || directory_count == directory_room) {
		free(made);
		return NULL;
	}
	made->number = directory_count;
	made->parent = parent;
	strcpy(made->name, name);
	directories[directory_count++] = made;
	return made;
}

static void fill_stat(struct stat *st, fuse_ino_t node)
{
	memset(st, 0, sizeof *st);
	st->st_ino = node;
	st->st_mode = is_directory(node) ? S_IFDIR | 0755 : S_IFREG | 0644;
	st->st_nlink = is_directory(node) ? 2 : 1;
	st->st_blksize = 4096;
}

static void reply_entry(fuse_req_t request, fuse_ino_t node)
{
	struct fuse_entry_param entry = { .ino = node, .entry_timeout = timeout, .attr_timeout = timeout };
	fill_stat(&entry.attr, node);
	fuse_reply_entry(request, &entry);
}

static void null_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	unsigned number = directory_of(parent);
	struct directory *found = *find_directory(number, name);
	char **file;

	if (found)
		reply_entry(request, node_of(found->number));
	else if ((file = bsearch(&name, names, name_count, sizeof *names, compare_names)))
		reply_entry(request, parent + 1 + (file - names));
	else
		fuse_reply_err(request, ENOENT);
}

static void null_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct stat st;
	(void)info;
	fill_stat(&st, node);
	fuse_reply_attr(request, &st, timeout);
}

static void null_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	unsigned number = directory_of(parent);
	struct directory **at = find_directory(number, name), *above, *made;
	(void)mode;

	if (*at) {
		fuse_reply_err(request, EEXIST);
		return;
	}
	if (!(made = make_directory(number, name))) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	*at = made;
	above = directories[number];
	made->next = above->children;
	made->link = &above->children;
	if (made->next)
		made->next->link = &made->next;
	above->children = made;
	reply_entry(request, node_of(made->number));
}

static void null_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct directory **at = find_directory(directory_of(parent), name), *gone = *at;

	if (!gone || gone->children) {
		fuse_reply_err(request, gone ? ENOTEMPTY : ENOENT);
		return;
	}
	*at = gone->same_hash;
	*gone->link = gone->next;
	if (gone->next)
		gone->next->link = gone->link;
	directories[gone->number] = NULL; /* numbers are not used again */
	free(gone);
	fuse_reply_err(request, 0);
}

static void null_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	info->direct_io = 1;
	fuse_reply_open(request, info);
}

static void null_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info)
{
	size_t length = sizeof CONTENT - 1, from = (size_t)offset < length ? (size_t)offset : length;
	(void)node, (void)info;
	fuse_reply_buf(request, CONTENT + from, length - from < size ? length - from : size);
}

static void null_write(fuse_req_t request, fuse_ino_t node, const char *data, size_t size, off_t offset,
		       struct fuse_file_info *info)
{
	(void)node, (void)data, (void)offset, (void)info;
	fuse_reply_write(request, size);
}

static void null_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	info->cache_readdir = info->keep_cache = timeout > 0;
	fuse_reply_open(request, info);
}

/* Adds an entry to `buffer`; 0 once it does not fit. */
static int add_entry(fuse_req_t request, char *buffer, size_t *used, size_t size, const char *name, fuse_ino_t node,
		     off_t next)
{
	struct stat st = { .st_ino = node, .st_mode = is_directory(node) ? S_IFDIR : S_IFREG };
	size_t needed = fuse_add_direntry(request, buffer + *used, size - *used, name, &st, next);
	if (needed > size - *used)
		return 0;
	*used += needed;
	return 1;
}

static void null_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct directory *self = directories[directory_of(node)], *child;
	size_t used = 0;
	off_t position = 0;
	char *buffer;
	int room = 1;
	(void)info;

	if (!self) {
		fuse_reply_buf(request, NULL, 0);
		return;
	}
	if (!(buffer = malloc(size))) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	for (; room && position < 2; position++)
		if (position >= offset)
			room = add_entry(request, buffer, &used, size, position ? ".." : ".",
					 node_of(position ? self->parent : self->number), position + 1);
	if (position < offset && offset < name_count + 2)
		position = offset;
	for (; room && position < name_count + 2; position++)
		if (position >= offset)
			room = add_entry(request, buffer, &used, size, names[position - 2], node + position - 1,
					 position + 1);
	for (child = self->children; room && child; child = child->next, position++)
		if (position >= offset)
			room = add_entry(request, buffer, &used, size, child->name, node_of(child->number),
					 position + 1);
	fuse_reply_buf(request, buffer, used);
	free(buffer);
}

static void null_done(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node, (void)info;
	fuse_reply_err(request, 0);
}

static void null_access(fuse_req_t request, fuse_ino_t node, int mask)
{
	(void)node, (void)mask;
	fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops OPERATIONS = {
	.lookup = null_lookup, .getattr = null_getattr, .access = null_access,
	.mkdir = null_mkdir, .rmdir = null_rmdir,
	.open = null_open, .read = null_read, .write = null_write, .release = null_done,
	.opendir = null_opendir, .readdir = null_readdir, .releasedir = null_done,
};

int main(int argc, char **argv)
{
	char *everyone[] = { argv[0], "-o", "fsname=nullfs,allow_other" }, *mine[] = { argv[0], "-o", "fsname=nullfs" };
	struct fuse_args arguments = FUSE_ARGS_INIT(3, geteuid() ? mine : everyone);
	struct fuse_session *session;
	int failed;

	if (argc > 1 && !strcmp(argv[1], "--cached")) {
		timeout = 1e9;
		argv++;
		argc--;
	}
	if (argc < 3 || argc - 2 >= STRIDE) {
		fprintf(stderr, "usage: nullfs [--cached] MOUNTPOINT NAME... (fewer than %d)\n", STRIDE);
		return 2;
	}
	names = argv + 2;
	name_count = argc - 2;
	qsort(names, name_count, sizeof *names, compare_names);
	if (!make_directory(0, "") || !(session = fuse_session_new(&arguments, &OPERATIONS, sizeof OPERATIONS, NULL)))
		return 1;
	if (fuse_set_signal_handlers(session) || fuse_session_mount(session, argv[1]))
		return 1;
	failed = fuse_session_loop(session);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return failed < 0;
}
