/* What the guest's files share.  The other end of the shared memory is wire.py. */
#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

#define MAGIC 0x31474346u /* "FCG1" */
#define ROOT "/cg"
#define CPUS "/sys/devices/system/cpu"
#define AGENT "/init" /* what "$agent" stands for */

struct header {
	uint32_t magic, layout;
	uint32_t cases, first;
	uint64_t in, out, out_size;
	/* written here, read by the host */
	volatile uint64_t out_used, progress;
	volatile uint32_t state, current;
};
enum { V1 = 1, V2, HYBRID }; /* header.layout */
enum { BOOTING, RUNNING, DONE, DIRTY };
enum { CASE_OK, CASE_HANG, CASE_LOST };
#define END_OF_CASE 0xffffffffu

extern struct header *shm;

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
extern struct shared *sh;
extern int pipes[SLOTS][2];

struct handle {
	char name[32];
	int fd;
};
extern struct handle handles[64];

/* answer.c */
char *parse(char *p, struct op *op);
void fail(struct answer *a, int err, int step);
void ok(struct answer *a);
void put_int(struct answer *a, long long v);
void put_bytes(struct answer *a, const void *p, size_t n);
void put_item(struct answer *a, const void *p, uint32_t n);
void result(struct answer *a, long r);

/* helpers.c */
struct slot *find(const char *name);
char *expand(const char *in, uint32_t len, uint32_t *out_len);
struct handle *handle(const char *name);
int handle_fd(const char *name);
void keep(const char *name, int fd);
void nap(long us);
int state_of(pid_t pid);
int dead(int state);
void until_dead(pid_t pid, int ms);
void drain(int fd);
void op_fork(struct op *op, struct answer *a, const char *into);
void op_thread(struct op *op, struct answer *a);
void op_in(struct op *op, struct answer *a);

/* release.c */
int agent(int argc, char **argv);
void op_releases(struct answer *a, int count, const char *what);
void forget_releases(void);

/* operations.c */
void do_op(struct op *op, struct answer *a);

/* modules.c */
void load_driver(const char *name);

/* tree.c */
void say(const char *fmt, ...);
int put(const char *path, const char *text);
int get(const char *path, char *buf, int size);
void mount_layout(int layout);
void snapshot_roots(void);
int reset_roots(void);
void thaw(const char *path);
int remove_all(void);
void disarm(void);
void offline_lag(void);
void bring_cpus_back(void);

#endif
