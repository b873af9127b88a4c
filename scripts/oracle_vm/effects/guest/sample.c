/*
 * Who looks at a pressure file every so often: "sample PATH NS" of the plan. When its averages have changed, it says
 *
 * changed FROM TO            times (ns) of the look before and of this one
 * before|after LINE          of the file then
 */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST 300

static char file_name[300];
static long long every;
static pthread_t thread;
static int samples; /* the thread is there */

void sample(const char *line)
{
	char path[200];
	sscanf(line, "%199s %lld", path, &every);
	snprintf(file_name, sizeof file_name, "%s/%s", root, path);
}

void forget_sample(void)
{
	file_name[0] = 0;
}

static int read_file(int file, char *text)
{
	int n = pread(file, text, MOST - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	return n > 0;
}

static int same_averages(const char *one, const char *other)
{
	for (; one && other; one = strchr(one, '\n'), other = strchr(other, '\n')) {
		const char *end = strstr(one += *one == '\n', " total=");
		other += *other == '\n';
		if (end && strncmp(one, other, end - one))
			return 0;
	}
	return 1;
}

static void say_lines(const char *word, char *text)
{
	char *rest;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		say("%s %s\n", word, line);
}

static void *look_often(void *arg)
{
	static char before[MOST], text[MOST];
	struct sched_param about = { 50 };
	int64_t since = now_ns(), now;
	(void)arg;
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &about);
	int file = open(file_name, O_RDONLY);
	for (read_file(file, before); (now = now_ns(), read_file(file, text)); sleep_until(now + every)) {
		if (!same_averages(before, text)) {
			char kept[MOST];
			strcpy(kept, text);
			say("changed %lld %lld\n", (long long)since, (long long)now_ns());
			say_lines("before", before);
			say_lines("after", text);
			strcpy(text, kept);
		}
		strcpy(before, text);
		since = now;
	}
	close(file);
	return NULL;
}

void begin_to_sample(void)
{
	samples = file_name[0] && !pthread_create(&thread, NULL, look_often, NULL);
}

/* The cgroup is gone, so that there is nothing to read. */
void end_sampling(void)
{
	if (samples)
		pthread_join(thread, NULL);
	samples = 0;
}
