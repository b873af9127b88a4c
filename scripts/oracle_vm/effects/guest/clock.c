/* Time: the clock, sleeping, and being busy. */
#define _GNU_SOURCE
#include "guest.h"

#include <time.h>

static double loops_per_ns = 0.01;

static int64_t read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* What this thread has used. */
int64_t cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until(int64_t at)
{
	struct timespec t = { at / SECOND, at % SECOND };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void spin(int64_t loops)
{
	for (int64_t i = 0; i < loops; i++)
		__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop");
}

void calibrate(void)
{
	int64_t best = SECOND;
	for (int round = 0; round < 5; round++) {
		int64_t before = now_ns();
		spin(10000);
		int64_t took = now_ns() - before;
		if (took > 0 && took < best)
			best = took;
	}
	loops_per_ns = 10000.0 / best;
}

/* Looks at the clock the more often the nearer the end is. */
static void busy(clockid_t id, int64_t until)
{
	for (;;) {
		int64_t left = until - read_clock(id);
		if (left <= 0)
			return;
		int64_t piece = left / 2;
		if (piece > 2 * MS)
			piece = 2 * MS;
		if (piece < 20000)
			piece = 20000;
		spin((int64_t)(piece * loops_per_ns) + 1);
	}
}

void busy_until(int64_t at)
{
	busy(CLOCK_MONOTONIC, at);
}

void busy_for_cpu(int64_t ns)
{
	busy(CLOCK_THREAD_CPUTIME_ID, read_clock(CLOCK_THREAD_CPUTIME_ID) + ns);
}
