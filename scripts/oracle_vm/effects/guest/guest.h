/* What the guest's files share. The plan that it is given is described in plan.py, the other end. */
#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>
#include <sys/types.h>

#define MS 1000000LL
#define SECOND 1000000000LL
#define MAX_PHASES 32
#define MAX_TASKS 64
#define MAX_LISTENERS 16

enum kind { FOR, RUN, SLEEP };

struct phase {
	enum kind kind;
	int64_t ns;
	int cpus;
	int64_t memory, grow; /* bytes to hold from now on (-1: as before), and bytes per second */
	int64_t file;         /* bytes of page cache to hold, -1: as before */
	int64_t huge;         /* bytes of huge pages of 2 MiB to hold, -1: as before */
	int64_t io_read, io_write; /* bytes per second */
	int block;            /* bytes of each request */
	int disk[2];          /* major and minor */
};

struct task {
	char name[40], cgroups[200]; /* one of each hierarchy of v1, separated by + */
	int nice, adj, threads;
	int64_t delay, loop; /* loop: -1 for ever */
	struct phase phases[MAX_PHASES];
	int n_phases;
	pid_t pid;
	int dead;
};

/* clock.c */
int64_t now_ns(void);
int64_t cpu_ns(void);
void sleep_until(int64_t at);
void calibrate(void);
void busy_until(int64_t at);
void busy_for_cpu(int64_t ns);

/* init.c */
extern const char *root; /* where cgroups are */
void say(const char *format, ...);

/* setup.c */
void set_up(const char *line);

/* life.c */
void live(const struct task *task, int64_t start);

/* listen.c */
void listen_to(const char *line);
void begin_to_listen(int64_t start);
void count_events(void);
void end_listening(void);
void forget_listeners(void);

/* sample.c */
void sample(const char *line);
void begin_to_sample(void);
void end_sampling(void);
void forget_sample(void);

/* load.c */
void hold_memory(int64_t bytes);
int64_t held_memory(void);
void hold_file(int64_t bytes);
void hold_huge_pages(int64_t bytes);
void transfer(const struct phase *phase, int64_t until);

#endif
