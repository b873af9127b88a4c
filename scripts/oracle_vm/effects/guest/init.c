/*
 * Pid 1 of a small virtual machine that plays scenarios with real processes.  /plan says what to do (plan.py), the
 * second serial port takes what was seen (seen.py).  With another pid it is a program that plays the plan in its first
 * argument in the cgroups at /sys/fs/cgroup, and says on standard output what was seen.
 *
 * Of each run: the cgroups are made, the tasks forked and moved into theirs while they sleep, all begin at one time,
 * files are written and read at theirs, and in the end all is killed and removed.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINES 600

struct event {
	int64_t at;
	char *what; /* "write PATH TEXT" or "look" */
};

static struct task tasks[MAX_TASKS];
static int n_tasks;
static char *cgroups[MAX_LINES], *writes[MAX_LINES], *files[MAX_LINES];
static int n_cgroups, n_writes, n_files, n_events;
static struct event events[MAX_LINES];
static FILE *out;
const char *root = "/cg";

void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fflush(out);
}

/* Writes "PATH TEXT". */
static void put(const char *words)
{
	char path[400];
	const char *text = strchr(words, ' ');
	snprintf(path, sizeof path, "%s/%.*s", root, (int)(text - words), words);
	int file = open(path, O_WRONLY);
	if (file < 0 || write(file, text + 1, strlen(text + 1)) < 0)
		say("refused %s: %s\n", words, strerror(errno));
	if (file >= 0)
		close(file);
}

static void look(int64_t at)
{
	static char text[8192];
	char path[400];
	say("look %lld\n", (long long)at);
	for (int i = 0; i < n_files; i++) {
		snprintf(path, sizeof path, "%s/%s", root, files[i]);
		int file = open(path, O_RDONLY);
		if (file < 0)
			continue;
		int n = read(file, text, sizeof text - 1);
		close(file);
		text[n < 0 ? 0 : n] = 0;
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			say("= %s %s\n", files[i], line);
	}
}

static void note_deaths(int64_t start)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < n_tasks; i++)
			if (tasks[i].pid == pid) {
				tasks[i].dead = 1;
				say("%s %s %lld\n", WIFSIGNALED(status) ? "killed" : "exited", tasks[i].name,
				    (long long)(now_ns() - start));
			}
}

static void wait_until(int64_t at, int64_t start)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		note_deaths(start);
		int64_t left = at - now_ns();
		if (left <= 0)
			return;
		struct timespec t = { left / SECOND, left % SECOND };
		sigtimedwait(&set, NULL, &t);
	}
}

static void begin(struct task *task, int64_t start)
{
	task->dead = 0;
	task->pid = fork();
	if (task->pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_NAME, task->name);
		setpriority(PRIO_PROCESS, 0, task->nice);
		FILE *file = fopen("/proc/self/oom_score_adj", "w");
		fprintf(file, "%d", task->adj);
		fclose(file);
		live(task, start);
		_exit(0);
	}
}

/* Once it sleeps: what it did until then is not its cgroup's. */
static void move(const struct task *task)
{
	char text[300], cgroups[200];
	strcpy(cgroups, task->cgroups);
	for (char *cgroup = strtok(cgroups, "+"); cgroup; cgroup = strtok(NULL, "+")) {
		snprintf(text, sizeof text, "%s/cgroup.procs %d", cgroup, task->pid);
		put(text);
	}
}

static void be_first(int first)
{
	struct sched_param about = { first ? 50 : 0 };
	sched_setscheduler(0, (first ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK, &about);
}

/* Writes to memory.* may wait for what they kill, which needs the CPU. */
static void put_in_time(const char *words)
{
	int waits = strstr(words, "/memory.") != NULL;
	if (waits)
		be_first(0);
	put(words);
	if (waits)
		be_first(1);
}

static void end_all(void)
{
	char path[400];
	for (int i = 0; i < n_tasks; i++)
		if (!tasks[i].dead)
			kill(tasks[i].pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	for (int i = n_cgroups - 1; i >= 0; i--) {
		snprintf(path, sizeof path, "%s/%s", root, cgroups[i]);
		for (int round = 0; rmdir(path) < 0 && errno == EBUSY && round < 200; round++)
			usleep(5000);
	}
}

/* Whether the tasks were in their cgroups in time, which a busy host may prevent: then nothing has been done. */
static int run(const char *name, int number, int64_t offset, int64_t margin)
{
	char path[400];
	say("run %s %d\n", name, number);
	for (int i = 0; i < n_cgroups; i++) {
		snprintf(path, sizeof path, "%s/%s", root, cgroups[i]);
		mkdir(path, 0755);
	}
	for (int i = 0; i < n_writes; i++)
		put(writes[i]);
	margin += 8 * MS * n_tasks;
	int64_t asleep = now_ns() + margin, start = asleep + margin + offset;
	for (int i = 0; i < n_tasks; i++)
		begin(&tasks[i], start);
	sleep_until(asleep);
	for (int i = 0; i < n_tasks; i++)
		move(&tasks[i]);
	int late = now_ns() > start;
	if (!late) {
		begin_to_listen(start);
		begin_to_sample();
	}
	for (int i = 0; i < n_events && !late; i++) {
		wait_until(start + events[i].at, start);
		if (!strcmp(events[i].what, "look"))
			look(events[i].at), count_events();
		else
			put_in_time(events[i].what + 6);
	}
	end_listening();
	end_all();
	end_sampling();
	say(late ? "late\n" : "done\n");
	return !late;
}

static void read_task(char *line)
{
	struct task *task = &tasks[n_tasks++];
	memset(task, 0, sizeof *task);
	long long delay, loop;
	sscanf(line, "%39s %199s %d %d %d %lld %lld", task->name, task->cgroups, &task->nice, &task->adj, &task->threads,
	       &delay, &loop);
	task->delay = delay;
	task->loop = loop;
}

static void read_phase(char *line)
{
	struct task *task = &tasks[n_tasks - 1];
	struct phase *phase = &task->phases[task->n_phases++];
	char kind[8];
	long long ns, memory, grow, file, huge, reads, writes_;
	sscanf(line, "%7s %lld %d %lld %lld %lld %lld %lld %lld %d %d:%d", kind, &ns, &phase->cpus, &memory, &grow, &file,
	       &huge, &reads, &writes_, &phase->block, &phase->disk[0], &phase->disk[1]);
	phase->kind = kind[0] == 'f' ? FOR : kind[0] == 'r' ? RUN : SLEEP;
	phase->ns = ns;
	phase->memory = memory;
	phase->grow = grow;
	phase->file = file;
	phase->huge = huge;
	phase->io_read = reads;
	phase->io_write = writes_;
}

static void forget(void)
{
	n_tasks = n_cgroups = n_writes = n_files = n_events = 0;
	forget_listeners();
	forget_sample();
}

static void play(FILE *plan)
{
	static char line[4096];
	unsigned long long random = 88172645463325252ULL;
	while (fgets(line, sizeof line, plan)) {
		line[strcspn(line, "\n")] = 0;
		char *rest = strchr(line, ' ');
		rest = rest ? rest + 1 : line + strlen(line);
		if (!strncmp(line, "set-up ", 7))
			set_up(rest);
		else if (!strncmp(line, "listen ", 7))
			listen_to(rest);
		else if (!strncmp(line, "sample ", 7))
			sample(rest);
		else if (!strncmp(line, "cgroup ", 7))
			cgroups[n_cgroups++] = strdup(rest);
		else if (!strncmp(line, "write ", 6))
			writes[n_writes++] = strdup(rest);
		else if (!strncmp(line, "file ", 5))
			files[n_files++] = strdup(rest);
		else if (!strncmp(line, "task ", 5))
			read_task(rest);
		else if (!strncmp(line, "phase ", 6))
			read_phase(rest);
		else if (!strncmp(line, "at ", 3)) {
			char *what;
			events[n_events].at = strtoll(rest, &what, 10);
			events[n_events++].what = strdup(what + 1);
		} else if (!strncmp(line, "play ", 5)) {
			char name[100];
			int runs;
			sscanf(rest, "%99s %d", name, &runs);
			for (int i = 0; i < runs; i++) {
				random ^= random << 13, random ^= random >> 7, random ^= random << 17;
				for (int64_t margin = 60 * MS; !run(name, i, random % (100 * MS), margin); margin *= 2)
					;
			}
			forget();
		}
	}
}

static void open_output(void)
{
	int port = open("/dev/ttyS1", O_WRONLY | O_NOCTTY);
	struct termios raw;
	tcgetattr(port, &raw);
	cfmakeraw(&raw);
	cfsetspeed(&raw, B115200);
	tcsetattr(port, TCSANOW, &raw);
	out = fdopen(port, "w");
	static char buffer[1 << 16];
	setvbuf(out, buffer, _IOFBF, sizeof buffer);
}

static void boot(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir(root, 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	open_output();
	be_first(1);
}

int main(int argc, char **argv)
{
	int boots = getpid() == 1;
	if (boots) {
		boot();
	} else {
		root = "/sys/fs/cgroup";
		out = stdout;
	}
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	calibrate();
	FILE *plan = fopen(boots || argc < 2 ? "/plan" : argv[1], "r");
	play(plan);
	say("end\n");
	if (!boots)
		return 0;
	tcdrain(fileno(out));
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
