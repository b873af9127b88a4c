/*
 * Who waits for events of files:
 *
 * pressure PATH FROM USER TEXT     writes a trigger, as a user without privileges if USER is 1, and polls; says
 *                                  "event NUMBER NS" of each event, since the start
 * eventfd PATH TEXT                writes to cgroup.event_control; says "counted NUMBER EVENTS" with each look
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

struct listener {
	char file[300], text[100];
	int is_pressure, as_user;
	int64_t from, start, events;
	int number, descriptor, control;
	pthread_t thread;
};

static struct listener listeners[MAX_LISTENERS];
static int n_listeners;

void forget_listeners(void)
{
	n_listeners = 0;
}

void listen_to(const char *line)
{
	struct listener *one = &listeners[n_listeners];
	char kind[20], path[200];
	long long from = 0;
	int user = 0, at = 0;
	memset(one, 0, sizeof *one);
	sscanf(line, "%19s %199s %n", kind, path, &at);
	one->number = n_listeners++;
	one->is_pressure = !strcmp(kind, "pressure");
	if (one->is_pressure) {
		int more = 0;
		sscanf(line + at, "%lld %d %n", &from, &user, &more);
		at += more;
	}
	one->from = from;
	one->as_user = user;
	snprintf(one->file, sizeof one->file, "%s/%s", root, path);
	snprintf(one->text, sizeof one->text, "%s", line + at);
}

static void close_it(void *arg)
{
	close(*(int *)arg);
}

static void *poll_it(void *arg)
{
	struct listener *one = arg;
	struct sched_param about = { 50 };
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &about);
	if (one->as_user) /* of this thread alone */
		syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	sleep_until(one->start + one->from);
	int file = open(one->file, O_RDWR | O_NONBLOCK);
	pthread_cleanup_push(close_it, &file);
	if (file < 0 || write(file, one->text, strlen(one->text) + 1) < 0)
		say("refused trigger %s: %s\n", one->text, strerror(errno));
	for (;;) {
		struct pollfd polled = { file, POLLPRI, 0 };
		if (poll(&polled, 1, -1) < 0 || !(polled.revents & POLLPRI) || polled.revents & POLLERR)
			break;
		say("event %d %lld\n", one->number, (long long)(now_ns() - one->start));
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static void register_it(struct listener *one)
{
	char path[400], text[200];
	one->descriptor = eventfd(0, EFD_NONBLOCK);
	one->control = open(one->file, O_RDONLY);
	snprintf(path, sizeof path, "%.*s/cgroup.event_control", (int)(strrchr(one->file, '/') - one->file), one->file);
	int n = snprintf(text, sizeof text, "%d %d %s", one->descriptor, one->control, one->text);
	int control = open(path, O_WRONLY);
	if (control < 0 || write(control, text, n) < 0)
		say("refused %s: %s\n", text, strerror(errno));
	close(control);
}

void begin_to_listen(int64_t start)
{
	for (int i = 0; i < n_listeners; i++) {
		struct listener *one = &listeners[i];
		one->start = start;
		one->events = 0;
		if (one->as_user)
			chmod(one->file, 0666);
		if (one->is_pressure)
			pthread_create(&one->thread, NULL, poll_it, one);
		else
			register_it(one);
	}
}

void count_events(void)
{
	for (int i = 0; i < n_listeners; i++) {
		struct listener *one = &listeners[i];
		uint64_t more;
		if (one->is_pressure)
			continue;
		if (read(one->descriptor, &more, sizeof more) == sizeof more)
			one->events += more;
		say("counted %d %lld\n", i, (long long)one->events);
	}
}

void end_listening(void)
{
	for (int i = 0; i < n_listeners; i++) {
		struct listener *one = &listeners[i];
		if (one->is_pressure) {
			pthread_cancel(one->thread);
			pthread_join(one->thread, NULL);
		} else {
			close(one->control);
			close(one->descriptor);
		}
	}
}
